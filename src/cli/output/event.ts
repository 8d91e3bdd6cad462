import type { EventEnvelope } from '../../core/events/envelope.js';
import type { CommandContext } from '../context.js';
import { singleLine, truncate } from './text.js';

const TYPE_WIDTH = 18;
/** The payload fields that are shown, most informative first. */
const PAYLOAD_FIELDS_SHOWN = [
  'reason',
  'rejection_reason',
  'cause',
  'work_product_ref',
  'message',
  'text',
  'expires_at',
];

export function eventLine(event: EventEnvelope, { io, paint }: CommandContext): string {
  const { position, timestamp, event_type, subject = '', generation, agent_id, payload } = event;
  const values = PAYLOAD_FIELDS_SHOWN.map((name) => payload[name]);
  const details = values.filter((value) => typeof value === 'string');
  const parts = [
    String(position).padStart(6),
    timestamp.slice(11, 19),
    event_type.padEnd(TYPE_WIDTH),
    subject,
    generation === undefined ? '' : `gen ${generation}`,
    agent_id,
    details.map(singleLine).join(' '),
  ];
  const line = truncate(parts.filter((part) => part !== '').join('  '), io.columns);
  return line.replace(event_type, colourOf(event_type, paint));
}

function colourOf(eventType: string, paint: CommandContext['paint']): (text: string) => string {
  if (/REJECTED|LOST/.test(eventType)) return paint.yellow;
  if (/RESULT_SUBMITTED|RESULT_ADOPTED/.test(eventType)) return paint.green;
  return /CLAIM_ACQUIRED/.test(eventType) ? paint.cyan : paint.bold;
}
