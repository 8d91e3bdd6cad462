const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment in local time; its UTC form is shown on hover. */
export const TimeText = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {Number.isNaN(Date.parse(at)) ? at : LOCAL.format(new Date(at))}
  </time>
);
