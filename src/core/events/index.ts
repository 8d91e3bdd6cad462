export { CATALOGUE, checkNewEvent, type EventCheck, type EventFault, envelopeSchema } from './catalogue.js';
export { claimPayloads } from './claim-payloads.js';
export { type EventDraft, type EventEnvelope, isoTime, msOf, type NewEvent } from './envelope.js';
export {
  type ForeignId,
  type ForeignLine,
  ForeignReader,
  foreignEvents,
  type TakenLine,
} from './foreign-log.js';
export { type EventReading, type ForeignPlace, readEvent } from './read.js';
export type { ForeignLog } from './read-flat.js';
