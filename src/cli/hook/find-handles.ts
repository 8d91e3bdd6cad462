import { z } from 'zod';
import type { McpHandle } from '../../server/mcp/backend.js';

const handleSchema = z.strictObject({
  task_id: z.string(),
  generation: z.number(),
  claim_id: z.string(),
  session_id: z.string(),
});

/** A handle is flat: it can be found in any text without reading the rest. */
const HANDLE_IN_TEXT = /\{[^{}]*"claim_id"[^{}]*\}/g;

/**
 * The handles in what a tool replied. Clients differ in how they wrap a reply, and a shell prints it: so it is looked
 * for wherever it may be. A wrong find does no harm, since the server refuses to renew it.
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
