import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { type AuditSink, type CheckpointId, isLater } from '../../coordinator/audit/sink.js';
import { type Anchor, anchorSchema, anchorText } from '../../core/audit/checkpoint.js';
import { type ProjectKey, projectPath } from '../../stores/store.js';

const LINE_FEED = 0x0a;

/** Keeps checkpoints in a file, one per line, each on disk before it counts as sent. */
export class FileSink implements AuditSink {
  private lastByProject: Promise<Map<string, CheckpointId>> | null = null;

  constructor(private readonly path: string) {}

  get name(): string {
    return `file:${this.path}`;
  }

  async lastSent(projectKey: ProjectKey): Promise<CheckpointId | null> {
    return (await this.loadLastByProject()).get(projectPath(projectKey)) ?? null;
  }

  async send(anchors: readonly Anchor[]): Promise<void> {
    const last = await this.loadLastByProject();
    await mkdir(dirname(this.path), { recursive: true });
    const file = await open(this.path, 'a+', 0o600);
    try {
      const lines = anchors.map((anchor) => `${anchorText(anchor)}\n`).join('');
      await file.appendFile(`${(await endsWithinLine(file)) ? '\n' : ''}${lines}`);
      await file.datasync();
    } finally {
      await file.close();
    }
    for (const anchor of anchors) last.set(projectPath(anchor), anchor);
  }

  private loadLastByProject(): Promise<Map<string, CheckpointId>> {
    this.lastByProject ??= readLast(this.path).catch((error) => {
      this.lastByProject = null;
      throw error;
    });
    return this.lastByProject;
  }
}

/** Whether the file ends within a line, because a crash has left half of it. */
async function endsWithinLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
  return bytesRead === 1 && buffer[0] !== LINE_FEED;
}

async function readLast(path: string): Promise<Map<string, CheckpointId>> {
  const last = new Map<string, CheckpointId>();
  try {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      const anchor = anchorIn(line);
      if (anchor !== null && isLater(anchor, last.get(projectPath(anchor)) ?? null))
        last.set(projectPath(anchor), anchor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return last;
}

function anchorIn(line: string): Anchor | null {
  try {
    return anchorSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
