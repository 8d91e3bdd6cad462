import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { type AuditSink, isLater, type SentCheckpoint } from '../../coordinator/audit/sink.js';
import { type AnchorLine, anchorLine, anchorText } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

const nameOf = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

/** Keeps checkpoints in a file, one per line, each on disk before it counts as sent. */
export class FileSink implements AuditSink {
  private lastByProject: Promise<Map<string, SentCheckpoint>> | null = null;

  constructor(private readonly path: string) {}

  get name(): string {
    return `file:${this.path}`;
  }

  async lastSent(project: ProjectKey): Promise<SentCheckpoint | null> {
    return (await this.last()).get(nameOf(project)) ?? null;
  }

  async send(anchors: readonly AnchorLine[]): Promise<void> {
    const last = await this.last();
    await mkdir(dirname(this.path), { recursive: true });
    const file = await open(this.path, 'a', 0o600);
    try {
      // A crash may have left half a line.
      await file.appendFile(anchors.map((anchor) => `\n${anchorText(anchor)}\n`).join(''));
      await file.datasync();
    } finally {
      await file.close();
    }
    for (const anchor of anchors) last.set(nameOf(anchor), anchor);
  }

  private last(): Promise<Map<string, SentCheckpoint>> {
    this.lastByProject ??= readLast(this.path).catch((error) => {
      this.lastByProject = null;
      throw error;
    });
    return this.lastByProject;
  }
}

async function readLast(path: string): Promise<Map<string, SentCheckpoint>> {
  const last = new Map<string, SentCheckpoint>();
  try {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      const anchor = anchorIn(line);
      if (anchor !== null && isLater(anchor, last.get(nameOf(anchor)) ?? null))
        last.set(nameOf(anchor), anchor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return last;
}

function anchorIn(line: string): AnchorLine | null {
  try {
    return anchorLine.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
