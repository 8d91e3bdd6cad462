import { z } from 'zod';
import { PROBLEM_CODES } from './codes.js';
import { count, namedObject, type ReplyOf } from './schema.js';

const faultFields = {
  path: z.string(),
  message: z.string(),
  line: count.exactOptional(),
  column: count.exactOptional(),
};
const fieldFault = z.object({
  /** The fault's own code, if it has one, as plan faults do. */
  code: z.string().exactOptional(),
  /** The workspace file of the fault. */
  file: z.string().exactOptional(),
  ...faultFields,
});
export type FieldFault = ReplyOf<typeof fieldFault>;

/** What is wrong with a workspace file, and where. */
export const configFault = z.object({
  /** Relative to `.ai-workspace/`, as `profiles/standard.yml`. */
  file: z.string(),
  ...faultFields,
});
export type ConfigFault = ReplyOf<typeof configFault>;

/** Problem details as in RFC 9457, with a stable code. */
export const problemDocument = namedObject('Problem', {
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: z.enum(PROBLEM_CODES),
  detail: z.string().describe('what happened and what to do next'),
  faults: z.array(fieldFault).exactOptional(),
  request_id: z.string().exactOptional(),
});
export type ProblemDocument = ReplyOf<typeof problemDocument>;
