import { type HttpResponse, problemResponse } from '../response.js';
import type { IncomingRequest } from '../route.js';

/** Refuses malformed percent-encoding in the path, and NUL in path or query: some stores cannot keep NUL in a string. */
export function checkPath({ path, search }: Pick<IncomingRequest, 'path' | 'search'>): HttpResponse | null {
  if (!path.includes('%') && !search.includes('%')) return null;
  if (path.includes('%00') || search.includes('%00'))
    return invalidPath('expected no NUL character (%00) in the path or the query');
  try {
    decodeURIComponent(path);
    return null;
  } catch {
    return invalidPath('expected % followed by two hexadecimal digits, in UTF-8');
  }
}

const invalidPath = (message: string): HttpResponse => problemResponse('INVALID_REQUEST', `path: ${message}`);
