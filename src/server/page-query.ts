import { z } from 'zod';
import { PAGE_MAX } from '../coordinator/queries/page.js';

const CURSOR_LENGTH_MAX = 500;
const limit = z.coerce.number().int().min(1).max(PAGE_MAX).exactOptional();

/** Of a list that is read a page at a time: `after` is `next` of the page before. */
export const pageQuery = z.strictObject({ after: z.string().max(CURSOR_LENGTH_MAX).exactOptional(), limit });

/** Of lists that end with the latest item, and leave out the oldest. */
export const latestQuery = z.strictObject({ limit });

/** Null: there are no more. */
export const nextPage = z.string().nullable();
