import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Store } from '../../stores/store.js';
import { Serialiser, type SerialiserOptions } from '../inbox/serialiser.js';
import { openWorkspaceStore } from '../store.js';
import { Workspace } from '../workspace.js';

export const KEY = { tenant_id: 'default', project_id: 'shop' };
export const FEATURE = 'REQ-F-AUTH-001';
export const EDGE = 'design→code';

/** A workspace that contains only its project's name and id. */
export async function bareWorkspace(): Promise<Workspace> {
  const root = await mkdtemp(join(tmpdir(), 'workspace-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const workspace = new Workspace(root);
  await mkdir(workspace.path('events', 'inbox'), { recursive: true });
  await writeFile(workspace.path('coordination.yml'), 'project: {name: Shop, project_id: shop}\n');
  return workspace;
}

/** A store, coordinator and serialiser that are open on a workspace. */
export class WorkspaceHarness {
  private constructor(
    readonly workspace: Workspace,
    readonly store: Store,
    readonly coordinator: Coordinator,
    readonly serialiser: Serialiser,
    readonly warnings: readonly string[],
  ) {}

  static async open(workspace: Workspace, parts: Partial<SerialiserOptions> = {}): Promise<WorkspaceHarness> {
    const { store, blobs, key } = await openWorkspaceStore(workspace, () => {});
    const coordinator = await Coordinator.open({ store, blobs });
    const warnings: string[] = [];
    const serialiser = new Serialiser({
      events: workspace.events,
      context: { project: workspace, coordinator, store, blobs, key },
      now: () => new Date(),
      warn: (sentence) => warnings.push(sentence),
      ...parts,
    });
    const harness = new WorkspaceHarness(workspace, store, coordinator, serialiser, warnings);
    onTestFinished(() => harness.close());
    return harness;
  }

  async events(): Promise<EventEnvelope[]> {
    return this.store.events(KEY, { after: 0, limit: 100_000 });
  }

  /**
   * The events on edges, in order, as `edge_started a-01 1`. Leaves out signs of life that no command requested, because
   * their number depends on the clock.
   */
  async edgeHistory(): Promise<string[]> {
    const isSignOfLife = ({ event_type, request_id }: EventEnvelope) =>
      event_type === 'heartbeat' && request_id === undefined;
    const events = (await this.events()).filter(
      (event) => event.feature_id !== undefined && !isSignOfLife(event),
    );
    return events.map(
      ({ event_type, agent_id, generation }) => `${event_type} ${agent_id} ${generation ?? '-'}`,
    );
  }

  async close(): Promise<void> {
    this.coordinator.close();
    await this.store.close();
  }
}

/** Writes a command into the inbox as an agent does: under a temporary name, then renames it. */
export async function writeInboxCommand(
  workspace: Workspace,
  agentId: string,
  name: string,
  content: unknown,
): Promise<void> {
  const folder = workspace.path('events', 'inbox', agentId);
  await mkdir(folder, { recursive: true });
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  await writeFile(join(folder, `.${name}.tmp`), text);
  await rename(join(folder, `.${name}.tmp`), join(folder, name));
}

interface OutcomeFile {
  readonly file: string;
  readonly event_type: string;
  readonly request_id: string;
  readonly ok: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows which reply it waits for.
  readonly reply: any;
}

export async function readOutcome(workspace: Workspace, agentId: string, name: string): Promise<OutcomeFile> {
  return JSON.parse(await readFile(workspace.path('events', 'outcome', agentId, name), 'utf8'));
}

/** The names in a folder of `events/`; empty if it does not exist. */
export const namesInWorkspace = (workspace: Workspace, ...parts: string[]): Promise<string[]> =>
  readdir(workspace.path('events', ...parts)).then(
    (names) => names.sort(),
    () => [],
  );
