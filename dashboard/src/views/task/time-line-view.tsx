import type { Reply } from '../../api/call.js';
import { ForeignText } from '../../components/foreign-text.js';
import { TimeText } from '../../components/time-text.js';
import { useClock } from '../../live/use-clock.js';
import { durationText } from '../../model/duration.js';
import { type Span, type TimeLineRow, timeLineOf } from './time-line.js';

const place = ({ start, width }: Span) => ({ left: `${start}%`, width: `${width}%` });

/** The generations as bars on one axis of time. A striped bar: the agent continued after its claim had ended. */
export function TimeLineView({ lineage }: { lineage: Reply<'get_claim_history'> }) {
  const line = timeLineOf(lineage, useClock());
  if (line === null) return null;
  const { start_ms, end_ms, rows } = line;
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
      <ul className="row time-line-key quiet">
        <li>
          <span className="swatch bar-accent" aria-hidden="true" /> held
        </li>
        <li>
          <span className="swatch bar-late" aria-hidden="true" /> worked on after its claim had ended
        </li>
        <li>◆ refused submission</li>
      </ul>
    </figure>
  );
}

function Row({ row }: { row: TimeLineRow }) {
  const { generation, agent_id, outcome, tone, held, late, refused } = row;
  const afterwards = late === null ? '' : ', worked on after its claim had ended';
  return (
    <div className="time-line-row">
      <span className="time-line-name">
        {generation} <ForeignText text={agent_id} />
      </span>
      <div
        className="time-line-track"
        role="img"
        aria-label={`Generation ${generation}: ${outcome}${afterwards}; ${refused.length} refused submissions`}
      >
        {held === null ? null : <div className={`bar bar-${tone}`} style={place(held)} title={outcome} />}
        {late === null ? null : <div className="bar bar-late" style={place(late)} title="after its claim" />}
        {refused.map(({ id, at, isParked, text }) => (
          <span
            key={id}
            className={`bar-mark ${isParked ? 'bar-mark-parked' : ''}`}
            style={{ left: `${at}%` }}
            title={text}
          >
            ◆
          </span>
        ))}
      </div>
    </div>
  );
}
