import { z } from 'zod';
import type { McpHandle } from '../../server/mcp/backend.js';

const handleSchema = z.strictObject({
  task_id: z.string(),
  generation: z.number(),
  claim_id: z.string(),
  session_id: z.string(),
});

/** A handle is a flat object, so a pattern finds it without parsing the surrounding text. */
const HANDLE_IN_TEXT = /\{[^{}]*"claim_id"[^{}]*\}/g;

/**
 * Finds the handles in a tool's reply. Clients wrap replies differently and shells print them, so the whole reply
 * is searched. A false match is harmless: the server refuses to renew it.
 */
export function findHandles(reply: unknown): McpHandle[] {
  if (typeof reply === 'string') return (reply.match(HANDLE_IN_TEXT) ?? []).flatMap(parseHandle);
  if (typeof reply !== 'object' || reply === null) return [];
  const parsed = handleSchema.safeParse(reply);
  return parsed.success ? [parsed.data] : Object.values(reply).flatMap(findHandles);
}

function parseHandle(text: string): McpHandle[] {
  try {
    const parsed = handleSchema.safeParse(JSON.parse(text));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}
