/** A local time, with UTC on hover. With its date unless it is of today. */
export function TimeText({ at }: { at: string }) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <>{at}</>;
  const isToday = time.toDateString() === new Date().toDateString();
  return (
    <time dateTime={at} title={`${time.toISOString()} (UTC)`}>
      {isToday ? time.toLocaleTimeString() : time.toLocaleString()}
    </time>
  );
}
