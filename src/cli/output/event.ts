import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Context } from '../context.js';
import { cut, plainText } from './text.js';

const TYPE_WIDTH = 18;
/** What of a payload tells a person most, in the order of telling. */
const TOLD = ['reason', 'rejection_reason', 'cause', 'work_product_ref', 'message', 'text', 'expires_at'];

/** One event on one line. */
export function eventLine(event: EventEnvelope, { io, paint }: Context): string {
  const { position, timestamp, event_type, subject = '', generation, agent_id, payload } = event;
  const known = TOLD.map((name) => payload[name]).filter((value) => typeof value === 'string');
  const parts = [
    String(position).padStart(6),
    timestamp.slice(11, 19),
    event_type.padEnd(TYPE_WIDTH),
    subject,
    generation === undefined ? '' : `gen ${generation}`,
    agent_id,
    known.map((value) => plainText(value as string)).join(' '),
  ];
  const line = cut(parts.filter((part) => part !== '').join('  '), io.columns);
  return line.replace(event_type, colourOf(event_type, paint));
}

function colourOf(event_type: string, paint: Context['paint']): (text: string) => string {
  if (/REJECTED|LOST/.test(event_type)) return paint.yellow;
  if (/RESULT_SUBMITTED|RESULT_ADOPTED/.test(event_type)) return paint.green;
  return /CLAIM_ACQUIRED/.test(event_type) ? paint.cyan : paint.bold;
}
