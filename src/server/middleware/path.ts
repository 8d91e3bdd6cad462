import { type HttpResponse, problemResponse } from '../response.js';

/** Refuses malformed percent-encoding in the path, and the character that some stores cannot take in a string. */
export function checkPath(url: string): HttpResponse | null {
  if (!url.includes('%')) return null;
  if (url.includes('%00')) return invalidPath('expected no NUL character (%00) in the path or the query');
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return null;
  } catch {
    return invalidPath('expected % followed by two hexadecimal digits, in UTF-8');
  }
}

const invalidPath = (message: string): HttpResponse => problemResponse('INVALID_REQUEST', `path: ${message}`);
