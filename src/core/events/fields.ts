import { z } from 'zod';

/** Text of bounded length, for everything that people and agents write. */
export const textUpTo = (lengthMax: number) => z.string().max(lengthMax);
export const nameSchema = z.string().min(1).max(256);
export const sentenceSchema = textUpTo(4096);
export const nonNegativeInteger = z.int().nonnegative();
export const isoTimestamp = z.iso.datetime({
  precision: 3,
  error: 'a time is ISO-8601 in UTC with milliseconds and Z, as 2026-01-04T06:00:00.000Z',
});
export const eventSha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'a SHA-256 is 64 lowercase hex digits' });
export const openObject = z.record(z.string(), z.unknown());
