import { z } from 'zod';
import { TASKS_PER_EVENT_MAX } from '../plan/change.js';
import { count, isoTimestamp, name, openObject, text } from './fields.js';

/** A plan changes in chunks, so that no event grows with the plan. */
const chunk = <Item extends z.ZodType>(item: Item) => z.array(item).max(TASKS_PER_EVENT_MAX);
const settingChanged = z.strictObject({ by: name, record: openObject });
const sessionRecord = z.strictObject({
  state: z.enum(['open', 'closed']),
  user_id: name.nullable(),
  public_key: text(1024).exactOptional(),
  created_at: isoTimestamp,
  closed_at: isoTimestamp.exactOptional(),
});
const sessionChanged = z.strictObject({ by: name.exactOptional(), record: sessionRecord });

/** What is written about the project's own records; `record` is the record's new value, whole. */
export const recordEvents = {
  PLAN_CHANGED: z.strictObject({
    version: count,
    added: chunk(openObject),
    changed: chunk(openObject),
    removed: chunk(name),
    record: z.strictObject({ version: count, task_count: count }),
  }),
  POLICY_CHANGED: settingChanged,
  LIMITS_CHANGED: settingChanged,
  SESSION_OPENED: sessionChanged,
  SESSION_CLOSED: sessionChanged,
};
