export { CATALOGUE, checkNewEvent, type EventCheck, type EventFault, envelopeSchema } from './catalogue.js';
export { claimPayloadSchemas } from './claim-payload-schemas.js';
export { type EventDraft, type EventEnvelope, isoTime, msOf, type NewEvent } from './envelope.js';
export {
  type DeriveEventId,
  type ForeignLine,
  ForeignLogReader,
  foreignEvents,
  type ImportedLine,
} from './foreign-log.js';
export { type EventParseResult, type FallbackIdentity, readEvent } from './read-event.js';
export type { ForeignLogContext } from './read-flat.js';
