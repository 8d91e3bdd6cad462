import { z } from 'zod';
import { NOTICE_KINDS } from '../engine/review-notices.js';
import { eventSha256, isoTimestamp, nameSchema, nonNegativeInteger } from './fields.js';

const candidate = { iteration: nonNegativeInteger, candidate_sha256: eventSha256 };
const notice = {
  ...candidate,
  notice_id: z.uuid(),
  kind: z.enum(NOTICE_KINDS),
  /** Only for reminders: 1 for the first. */
  number: nonNegativeInteger.exactOptional(),
  /** Only the host of the URL: its path may be a secret. */
  host: nameSchema,
};

/**
 * Notices about a waiting review, recorded by the coordinator. These events change no head, and agents cannot append
 * them.
 */
export const reviewEventSchemas = {
  /** The receiver of the webhook has confirmed the notice. */
  review_notified: z.strictObject(notice),
  /** The last try to deliver the notice has failed. */
  review_notice_failed: z.strictObject({ ...notice, tries: nonNegativeInteger, error: nameSchema }),
  /** The deadline of a review has passed without a decision. */
  escalation_timeout: z.strictObject({ ...candidate, deadline: isoTimestamp }),
};
