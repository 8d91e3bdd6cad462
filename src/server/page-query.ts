import { z } from 'zod';
import { PAGE_MAX } from '../coordinator/queries/page.js';

const CURSOR_LENGTH_MAX = 500;
const limit = z.coerce.number().int().min(1).max(PAGE_MAX).exactOptional();

/** Query of a paged list: `after` is `next` of the previous page. */
export const pageQuery = z.strictObject({ after: z.string().max(CURSOR_LENGTH_MAX).exactOptional(), limit });

/** Query of a list that keeps the latest items and omits the oldest. */
export const latestQuery = z.strictObject({ limit });

/** Null on the last page. */
export const nextPage = z.string().nullable();
