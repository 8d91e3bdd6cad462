import { AgentName } from '../../components/agent-name.js';
import { TimeText } from '../../components/time-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { durationText } from '../../model/duration.js';
import {
  type GenerationTimelineRow,
  generationTimelineOf,
  type Span,
  type TaskHistory,
} from './generation-timeline.js';

const barStyle = ({ start, width }: Span) => ({ left: `${start}%`, width: `${width}%` });

/** The generations as bars on one axis of time. A striped bar: the agent continued after its claim had ended. */
export function GenerationTimelineView({ history }: { history: TaskHistory }) {
  const timeline = generationTimelineOf(history, useServerClock());
  if (timeline === null) return null;
  const { start_ms, end_ms, rows } = timeline;
  return (
    <figure className="time-line" aria-label="Generations over time">
      {rows.map((row) => (
        <Row key={row.generation} row={row} />
      ))}
      <figcaption className="row quiet">
        <TimeText at={new Date(start_ms).toISOString()} />
        <span>{durationText(end_ms - start_ms)}</span>
        <TimeText at={new Date(end_ms).toISOString()} />
      </figcaption>
      <Legend rows={rows} />
    </figure>
  );
}

const TONE_NAMES = [
  ['accent', 'holds the claim now'],
  ['good', 'accepted'],
  ['plain', 'accepted, later replaced or reopened'],
  ['warn', 'released the claim'],
  ['bad', 'ended without a result'],
] as const;

/** The legend of the timeline. */
function Legend({ rows }: { rows: readonly GenerationTimelineRow[] }) {
  const tones = TONE_NAMES.filter(([tone]) =>
    rows.some((row) => row.claimSpan !== null && row.tone === tone),
  );
  return (
    <ul className="row time-line-key quiet">
      {tones.map(([tone, name]) => (
        <li key={tone}>
          <span className={`swatch bar-${tone}`} aria-hidden="true" /> {name}
        </li>
      ))}
      {rows.some(({ lateSpan }) => lateSpan !== null) ? (
        <li>
          <span className="swatch bar-late" aria-hidden="true" /> continued after its claim had ended
        </li>
      ) : null}
      {rows.some(({ refusedSubmissions }) => refusedSubmissions.length > 0) ? (
        <li>
          <span className="key-mark">◆</span> refused submission
        </li>
      ) : null}
    </ul>
  );
}

function Row({ row }: { row: GenerationTimelineRow }) {
  const { generation, agent_id, outcome, tone, claimSpan, lateSpan, refusedSubmissions } = row;
  const afterwards = lateSpan === null ? '' : ', continued after its claim had ended';
  return (
    <div className="time-line-row">
      <span className="time-line-name">
        <span className="quiet">{generation}</span> <AgentName id={agent_id} />
      </span>
      <div
        className="time-line-track"
        role="img"
        aria-label={`Generation ${generation}: ${outcome}${afterwards}; ${refusedSubmissions.length} refused submissions`}
      >
        {claimSpan === null ? null : (
          <div className={`bar bar-${tone}`} style={barStyle(claimSpan)} title={outcome} />
        )}
        {lateSpan === null ? null : (
          <div className="bar bar-late" style={barStyle(lateSpan)} title="after its claim" />
        )}
        {refusedSubmissions.map(({ id, at_percent, isParked, text }) => (
          <span
            key={id}
            className={`bar-mark ${isParked ? 'bar-mark-parked' : ''}`}
            style={{ left: `${at_percent}%` }}
            title={text}
          >
            ◆
          </span>
        ))}
      </div>
    </div>
  );
}
