import { z } from 'zod';
import { nonNegativeInteger } from '../events/fields.js';
import { bytes32 } from './audit-values.js';

export const ALARM_EVENT = 'AUDIT_ALARM';

/** The payload of `AUDIT_ALARM`: a coordinator computed a root that differs from the root in a checkpoint of the log. */
export const alarmPayload = z.strictObject({
  position: nonNegativeInteger.min(1),
  root: bytes32,
  computed_root: bytes32,
});
export type AuditAlarm = z.infer<typeof alarmPayload>;
