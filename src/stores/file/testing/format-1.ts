import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';

/** The project of the frozen log in `format-1/`. */
export const FORMAT_1_KEY = { tenant_id: 'acme', project_id: 'shop' };

/**
 * A copy of a store in format 1, written by the last program that wrote this format: transactions of one and of two lines, one
 * without events, two redacted payloads, two closed segments and an active file.
 */
export async function copyOfFormat1(): Promise<string> {
  const root = await temporaryFolder();
  await cp(join(import.meta.dirname, 'format-1'), root, { recursive: true });
  await writeFile(
    join(root, 'store.json'),
    `${JSON.stringify({ format: 1, incarnation: 1, secret: '07'.repeat(32) })}\n`,
  );
  return root;
}

/** The events of that log, as the last program that wrote format 1 read them. */
export async function format1Events(): Promise<EventEnvelope[]> {
  const text = await readFile(join(import.meta.dirname, 'format-1-events.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as EventEnvelope);
}
