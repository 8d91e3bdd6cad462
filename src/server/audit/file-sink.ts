import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { AuditSink } from '../../coordinator/audit/sink.js';
import { type AnchorLine, anchorLine, anchorText } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

const nameOf = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

/** Keeps checkpoints in a file, one per line, each on disk before it counts as sent. */
export class FileSink implements AuditSink {
  private lastPositions: Promise<Map<string, number>> | null = null;

  constructor(private readonly path: string) {}

  get name(): string {
    return `file:${this.path}`;
  }

  async lastPosition(project: ProjectKey): Promise<number> {
    return (await this.positions()).get(nameOf(project)) ?? 0;
  }

  async send(anchors: readonly AnchorLine[]): Promise<void> {
    const positions = await this.positions();
    await mkdir(dirname(this.path), { recursive: true });
    const file = await open(this.path, 'a', 0o600);
    try {
      // A crash may have left half a line.
      await file.appendFile(anchors.map((anchor) => `\n${anchorText(anchor)}\n`).join(''));
      await file.datasync();
    } finally {
      await file.close();
    }
    for (const anchor of anchors) positions.set(nameOf(anchor), anchor.position);
  }

  private positions(): Promise<Map<string, number>> {
    this.lastPositions ??= readPositions(this.path).catch((error) => {
      this.lastPositions = null;
      throw error;
    });
    return this.lastPositions;
  }
}

async function readPositions(path: string): Promise<Map<string, number>> {
  const positions = new Map<string, number>();
  try {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      const anchor = anchorIn(line);
      if (anchor !== null)
        positions.set(nameOf(anchor), Math.max(anchor.position, positions.get(nameOf(anchor)) ?? 0));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return positions;
}

function anchorIn(line: string): AnchorLine | null {
  try {
    return anchorLine.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
