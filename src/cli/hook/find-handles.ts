import type { McpHandle } from '../../server/mcp/handle.js';
import { jsonOrText } from '../json-or-text.js';

/** A handle is a flat object, so a pattern finds it without parsing the surrounding text. */
const HANDLE_IN_TEXT = /\{[^{}]*"claim_id"[^{}]*\}/g;

/**
 * Finds the handles in a tool's reply. Clients wrap replies differently and shells print them, so the whole reply
 * is searched. A false match is harmless: the server refuses to renew it.
 */
export function findHandles(reply: unknown): McpHandle[] {
  if (typeof reply === 'string')
    return (reply.match(HANDLE_IN_TEXT) ?? []).flatMap((text) => handleIn(jsonOrText(text)));
  if (typeof reply !== 'object' || reply === null) return [];
  const handle = handleIn(reply);
  return handle.length > 0 ? handle : Object.values(reply).flatMap(findHandles);
}

/** The handle in a value, if there is one. Does not use the schema, whose library takes longer to load than a hook may run. */
function handleIn(value: unknown): McpHandle[] {
  const { task_id, generation, claim_id, session_id, ...others } = value as Partial<McpHandle>;
  const isHandle =
    [task_id, claim_id, session_id].every((field) => typeof field === 'string') &&
    typeof generation === 'number' &&
    Object.keys(others).length === 0;
  return isHandle ? [{ task_id, generation, claim_id, session_id } as McpHandle] : [];
}
