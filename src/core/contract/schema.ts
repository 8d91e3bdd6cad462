import { z } from 'zod';
import { FORBIDDEN_KEYS } from '../events/plain-data.js';
import { requestIdSchema } from '../ids.js';

/** Schemas that have a name in the API description. */
export const schemaRegistry = z.registry<{ id: string }>();

/** Gives a schema its name in the API description. */
export function withName<S extends z.ZodType>(id: string, schema: S): S {
  schemaRegistry.add(schema, { id });
  return schema;
}

/** An object with a name in the API description. */
export const namedObject = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  withName(id, z.object(shape));

/** A named reply. Its `reason` distinguishes the cases: success, or why the command was refused. */
export const namedResult = <
  const Cases extends readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]],
>(
  id: string,
  cases: Cases,
) => withName(id, z.discriminatedUnion('reason', cases));

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
/** The type of a schema with read-only fields: a reply is never changed. */
export type ReplyOf<S extends z.ZodType> = DeepReadonly<z.output<S>>;

export const time = z.string().describe('ISO-8601 UTC with milliseconds');
export const count = z.number().int().min(0);
export const jsonRecord = z.record(z.string(), z.unknown());
/** Present on every refusal. */
export const nextStep = z.string().describe('what to do next');
/** The limit that caused a refusal, and its value. */
export const limitFields = { limit: z.string(), limit_value: count.nullable() };
/** Null on the last page. */
export const nextPage = z.string().nullable();
/** The log position that a reply is based on. */
export const positionFields = { position: count, last_updated: time.nullable() };
export type LogPosition = ReplyOf<z.ZodObject<typeof positionFields>>;

export const boundedText = (max: number) => z.string().min(1).max(max);
export const generationSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
export const iteration = z.number().int().min(1).max(1_000_000);
export const subjectSchema = boundedText(200);
export const claimId = boundedText(64);
export const sha256Schema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'expected a SHA-256: 64 lowercase hex digits' });
export const withinBytes = (bytesMax: number) =>
  [
    (value: unknown) =>
      Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value)) <= bytesMax,
    `expected at most ${bytesMax} bytes`,
  ] as const;

/** Optional fields of every mutating command. */
export const mutationFields = {
  request_id: requestIdSchema.optional(),
  signature: z.string().max(512).optional(),
};

/** Maximum number of items on a page. */
export const PAGE_MAX = 1000;
const CURSOR_LENGTH_MAX = 500;
export const pageLimit = z.coerce.number().int().min(1).max(PAGE_MAX).exactOptional();
/** Query of a paged list: `after` is `next` of the previous page. */
export const pageQuery = z.strictObject({
  after: z.string().max(CURSOR_LENGTH_MAX).exactOptional(),
  limit: pageLimit,
});
export type PageQuery = z.output<typeof pageQuery>;
/** The position of the log whose state a view shows; absent: the present. */
export const atField = { at: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).exactOptional() };
/** Query of a view of the present or the past. */
export const atQuery = z.strictObject(atField);
export type AtQuery = z.output<typeof atQuery>;
/** Query of a list that keeps the latest items and omits the oldest. */
export const latestQuery = z.strictObject({ limit: pageLimit });

/** Plain JSON data within bounds: no key that could reach a prototype, no depth that could exhaust the stack. */
export function isPlainData(value: unknown, depthMax = 32): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depthMax === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlainData(item, depthMax - 1));
  return Object.keys(value).every(
    (key) => !FORBIDDEN_KEYS.has(key) && isPlainData((value as Record<string, unknown>)[key], depthMax - 1),
  );
}

const PLAIN_DATA_TEXT =
  'expected plain JSON data, at most 32 levels deep, without __proto__, constructor or prototype keys';
export const plainObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isPlainData(value),
  PLAIN_DATA_TEXT,
);
export const plainValue = z.custom<unknown>(
  (value) => value === undefined || isPlainData(value),
  PLAIN_DATA_TEXT,
);
