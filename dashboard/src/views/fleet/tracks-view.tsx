import { Link } from 'wouter';
import type { Reply } from '../../api/call.js';

/** Progress per track. Each row links to the tasks of the track. */
export function Tracks({ tracks }: { tracks: Reply<'status'>['tracks'] }) {
  return (
    <ul className="tracks">
      {Object.entries(tracks).map(([track, { completed, in_progress, pending }]) => {
        const total = completed + in_progress + pending;
        const text = `${completed} of ${total}`;
        return (
          <li key={track}>
            <Link href={`/plan?tab=list&track=${encodeURIComponent(track)}`}>{track}</Link>
            <progress max={total} value={completed} aria-label={`Track ${track}: ${text} done`} />
            <span className="number">{text}</span>
            {in_progress > 0 ? <span className="quiet">{in_progress} in progress</span> : null}
          </li>
        );
      })}
    </ul>
  );
}
