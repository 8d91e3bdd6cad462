import { z } from 'zod';
import { nonNegativeInteger } from '../events/fields.js';
import { bytes32 } from './audit-values.js';

export const ALARM_EVENT = 'AUDIT_ALARM';

/** The payload of `AUDIT_ALARM`: a coordinator computed another root for a position than a checkpoint of the log has. */
export const alarmPayload = z.strictObject({
  position: nonNegativeInteger.min(1),
  root: bytes32,
  computed_root: bytes32,
});
export type AuditAlarm = z.infer<typeof alarmPayload>;
