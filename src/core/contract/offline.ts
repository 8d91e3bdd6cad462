import { z } from 'zod';
import { isoTimestamp } from '../events/fields.js';

/**
 * Id of an event in an offline log whose command is pushed. Accepts ids only in the form in which a coordinator assigns
 * them: version 7, in lower case. Version 5 is reserved for ids that derive from content.
 */
export const offlineEventId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, {
    error: 'expected a UUID of version 7 in lower case',
  });
export const offlineEvent = z.strictObject({
  event_id: offlineEventId,
  occurred_at: isoTimestamp.describe(
    'when the command was decided; a time in the future is replaced by the current time',
  ),
});
export const offlineFields = { offline: offlineEvent.optional() };
