import { z } from 'zod';
import { isoTimestamp } from '../events/fields.js';

/**
 * The event of an offline log that a pushed command repeats. Accepts only ids as a coordinator assigns them, in one
 * spelling. Version 5 is reserved for ids that derive from content.
 */
export const offlineEventId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, {
    error: 'expected a UUID of version 7 in lower case',
  });
export const offlineEvent = z.strictObject({
  event_id: offlineEventId,
  occurred_at: isoTimestamp.describe('when it was decided; a future time becomes now'),
});
export const offlineFields = { offline: offlineEvent.optional() };
