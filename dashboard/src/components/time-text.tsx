/** A local time, with UTC on hover. With its date unless it is of today. */
export function TimeText({ at }: { at: string }) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  const text = isToday ? time.toLocaleTimeString() : time.toLocaleString();
  return (
    <time dateTime={at} title={`${time.toISOString()} (UTC)`}>
      {text}
    </time>
  );
}
