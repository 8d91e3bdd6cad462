import { useLive } from '../live/live.js';
import { useClock } from '../live/use-clock.js';
import { durationText } from '../model/duration.js';

/** Shows whether the page is live. */
export function ConnectionMark() {
  const { connection } = useLive();
  const nowMs = useClock();
  const text = {
    connecting: () => 'connecting…',
    live: () => 'live',
    paused: () => 'paused while hidden',
    key_required: () => 'key required',
    lost: () =>
      connection.state === 'lost' ? `reconnecting for ${durationText(nowMs - connection.sinceMs)}` : '',
  }[connection.state]();
  return (
    <span className={`connection connection-${connection.state}`} role="status">
      <span className="dot" aria-hidden="true" />
      {text}
    </span>
  );
}
