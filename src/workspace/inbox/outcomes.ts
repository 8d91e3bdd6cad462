import { z } from 'zod';
import { readStrictJson } from '../../core/strict-json.js';
import { isErrorCode, unlessMissing } from '../../stores/file/disk.js';
import type { InboxReply } from './execute-command.js';
import type { AgentFolder } from './files.js';

/** Maximum outcomes kept per agent; the oldest are removed first. */
export const OUTCOMES_MAX = 1000;
/** Prune only after this many new outcomes, because pruning lists the whole folder. */
const PRUNE_EVERY = 100;
const CONCURRENCY_MAX = 500;

/** Larger than any refusal. */
const OUTCOME_BYTES_MAX = 64 * 1024;

/** The outcomes of one agent's commands, each in a file that is named like its command. */
export class Outcomes {
  /** Upper bound of the current count; null until the folder was listed. */
  private count: number | null = null;

  constructor(private readonly folder: AgentFolder) {}

  /** Writes an outcome atomically, so that an agent that waits for the file never reads part of it. */
  async put(name: string, outcome: object): Promise<void> {
    await writeJsonAtomically(this.folder, name, outcome);
    this.count ??= (await this.folder.names()).length;
    this.count += 1;
    if (this.count > OUTCOMES_MAX + PRUNE_EVERY) await this.prune();
  }

  /** The refusal already written for this request; null if there is none, or a power loss left it incomplete. */
  async refusal(name: string, requestId: string): Promise<InboxReply | null> {
    const bytes = await this.folder.read(name, OUTCOME_BYTES_MAX);
    const parsed = typeof bytes === 'string' ? { value: null } : readStrictJson(bytes.toString('utf8'));
    const { success, data } = refusalOutcomeSchema.safeParse('value' in parsed ? parsed.value : null);
    return success && data.request_id === requestId ? (data.reply as InboxReply) : null;
  }

  close(): Promise<void> {
    return this.folder.close();
  }

  private async prune(): Promise<void> {
    const names = (await this.folder.names()).map((name) => name.toString('utf8'));
    const entries: { name: string; at_ms: number }[] = [];
    await inBatches(names, async (name) => {
      // A file that its agent has removed meanwhile counts as the oldest.
      entries.push({ name, at_ms: await unlessMissing(this.folder.modifiedMs(name), 0) });
    });
    entries.sort((a, b) => a.at_ms - b.at_ms || (a.name < b.name ? -1 : 1));
    const old = entries.slice(0, Math.max(0, entries.length - OUTCOMES_MAX));
    await inBatches(old, ({ name }) => this.folder.remove(name));
    this.count = entries.length - old.length;
  }
}

/** Limits concurrency, because agents can write to the folder too and may leave a hundred thousand files. */
async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += CONCURRENCY_MAX) {
    await Promise.all(items.slice(at, at + CONCURRENCY_MAX).map(work));
  }
}

/** Agents can write to the folder too, so only a well-formed code is accepted and counted. */
const codeSchema = z.string().regex(/^[A-Z_]{1,64}$/);
const refusalOutcomeSchema = z.object({
  request_id: z.string(),
  ok: z.literal(false),
  reply: z.union([
    z.looseObject({ problem: codeSchema, detail: z.string() }),
    z.looseObject({ success: z.literal(false), reason: codeSchema }),
    z.looseObject({ accepted: z.literal(false), reason: codeSchema }),
  ]),
});

export async function writeJsonAtomically(folder: AgentFolder, name: string, content: object): Promise<void> {
  const temporary = `.${name}.tmp`;
  const text = `${JSON.stringify(content)}\n`;
  try {
    await folder.write(temporary, text);
  } catch (error) {
    if (!isErrorCode(error, 'EEXIST')) throw error;
    // A crash has left a temporary file.
    await folder.remove(temporary);
    await folder.write(temporary, text);
  }
  await folder.rename(temporary, name);
}
