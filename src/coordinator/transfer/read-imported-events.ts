import { IMPORT_CHUNK_BYTES_MAX, type ImportBody, importChunk } from '../../core/contract/events.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { importedEventFault } from '../../core/events/imported-event.js';
import { isObject } from '../../core/events/plain-data.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey } from '../../stores/store.js';
import { type AsyncReply, fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';

/** The events of an import and of its chunks, assigned to this project. One invalid event rejects all. */
export async function readImportedEvents(
  projectKey: ProjectKey,
  { events, chunks = [] }: ImportBody,
  blobs: Blobs,
): AsyncReply<NewEvent[]> {
  const allEvents = parseEvents(projectKey, events, 'events');
  if (isProblem(allEvents)) return allEvents;
  for (const [at, sha256] of chunks.entries()) {
    const chunk = await readChunk(blobs, projectKey.tenant_id, sha256, `chunks.${at}`);
    if (isProblem(chunk)) return chunk;
    const chunkEvents = parseEvents(projectKey, chunk, `chunks.${at}`);
    if (isProblem(chunkEvents)) return chunkEvents;
    allEvents.push(...chunkEvents);
  }
  return allEvents;
}

async function readChunk(
  blobs: Blobs,
  tenantId: string,
  sha256: string,
  path: string,
): AsyncReply<ImportBody['events']> {
  const size = await blobs.size(tenantId, sha256);
  if (size !== null && size > IMPORT_CHUNK_BYTES_MAX)
    return fieldProblem(path, `expected a blob of at most ${IMPORT_CHUNK_BYTES_MAX} bytes`);
  const bytes = await blobs.get(tenantId, sha256);
  if (bytes === null)
    return problem('BLOB_MISSING', `The chunk ${sha256} is missing. Nothing was imported. Upload it first.`);
  const events = importChunk.safeParse(jsonOf(bytes));
  return events.success ? events.data : fieldProblem(path, 'expected a JSON array of events');
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}

function parseEvents(
  { tenant_id, project_id }: ProjectKey,
  events: ImportBody['events'],
  path: string,
): NewEvent[] | Problem {
  const parsed: NewEvent[] = [];
  for (const [at, event] of events.entries()) {
    const scoped = { ...event, tenant_id, project_id, payload: withoutSignedText(event.payload) };
    const fault = importedEventFault(scoped);
    if (fault !== null) return fieldProblem(`${path}.${at}.${fault.path}`, fault.message, 'INVALID_EVENT');
    parsed.push(scoped as unknown as NewEvent);
  }
  return parsed;
}

/** Drops the signed text: a session signed it for another log, so the signature cannot be checked here. */
function withoutSignedText(payload: unknown): unknown {
  if (!isObject(payload) || payload.signed_text === undefined) return payload;
  const { signed_text: _, ...otherFields } = payload;
  return otherFields;
}
