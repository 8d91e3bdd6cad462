import { type HttpResponse, problemResponse } from '../response.js';

const MALFORMED = problemResponse(
  'INVALID_REQUEST',
  'path: expected % followed by two hexadecimal digits, in UTF-8',
);

const NUL = problemResponse(
  'INVALID_REQUEST',
  'path: expected no NUL character (%00) in the path or the query',
);

/** Refuses malformed percent-encoding in the path, and the character that some stores cannot take in a text. */
export function checkPath(url: string): HttpResponse | null {
  if (!url.includes('%')) return null;
  if (url.includes('%00')) return NUL;
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return null;
  } catch {
    return MALFORMED;
  }
}
