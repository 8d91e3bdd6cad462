import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CoordinatorOptions } from '../src/coordinator/coordinator.js';
import { Coordinator, isProblem } from '../src/coordinator/index.js';
import type { ClaimService } from '../src/coordinator/services/claims.js';
import type { HolderService } from '../src/coordinator/services/holder.js';
import { openFileStore } from '../src/stores/file/file-store.js';
import { openMemoryStore } from '../src/stores/memory/memory-store.js';
import type { ProjectKey, Store } from '../src/stores/store.js';

export type BenchStoreName = 'memory' | 'file';

/** A coordinator with plans of independent tasks, and a temporary folder that is removed on close. */
export interface BenchHarness {
  readonly commands: BenchCommands;
  readonly coordinator: Coordinator;
  readonly store: Store;
  readonly root: string;
  readonly tasks: readonly { readonly project: ProjectKey; readonly task_id: string }[];
  close(): Promise<void>;
}

const WIDE_LIMITS = { max_concurrent_claims: 10_000_000, max_active_sessions: 1_000_000 };
const TENANT = 'bench';
const TASKS_PER_TRACK = 999;

export const newTempFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'genesis-bench-'));

export async function openHarness(
  name: BenchStoreName,
  projects: number,
  tasksPerProject: number,
): Promise<BenchHarness> {
  const root = await newTempFolder();
  const store = name === 'file' ? await openFileStore({ root }) : openMemoryStore();
  return harnessOn(store, root, projects, tasksPerProject);
}

type BenchCommands = Pick<ClaimService, 'claimTask'> & Pick<HolderService, 'renewLease' | 'submitResult'>;

/** `--against` also measures older versions, in which the coordinator itself has the commands. */
function commandsOf(coordinator: Coordinator): BenchCommands {
  const { claims, holder } = coordinator;
  if (claims === undefined) return coordinator as unknown as BenchCommands;
  return {
    claimTask: claims.claimTask.bind(claims),
    renewLease: holder.renewLease.bind(holder),
    submitResult: holder.submitResult.bind(holder),
  };
}

/** The version that a benchmark measures, by default this one. */
export interface Implementation {
  readonly Coordinator: typeof Coordinator;
}

interface HarnessOptions extends Pick<CoordinatorOptions, 'audit'> {
  readonly tenant_id?: string;
  readonly implementation?: Implementation;
}

/** Builds the harness on any store. Closing the harness removes `root`. */
export async function harnessOn(
  store: Store,
  root: string,
  projects: number,
  tasksPerProject: number,
  { tenant_id = TENANT, implementation = { Coordinator } as Implementation, ...options }: HarnessOptions = {},
): Promise<BenchHarness> {
  const coordinator = await implementation.Coordinator.open({ store, limits: WIDE_LIMITS, ...options });
  const tasks: { project: ProjectKey; task_id: string }[] = [];
  for (let index = 0; index < projects; index += 1) {
    const project = { tenant_id, project_id: `project-${index}` };
    const tracks = tracksOf(tasksPerProject);
    const reply = await coordinator.plans.put(project, { tracks });
    if (isProblem(reply)) throw new Error(reply.detail);
    for (const { id } of Object.values(tracks).flat()) tasks.push({ project, task_id: id });
  }
  // Adjacent tasks belong to different projects, so that the load spreads over them.
  tasks.sort((a, b) => (a.task_id < b.task_id ? -1 : 1));
  return {
    coordinator,
    commands: commandsOf(coordinator),
    store,
    root,
    tasks,
    async close() {
      coordinator.close();
      await store.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Tasks without dependencies, 999 to a track: AAA-001-work, AAA-002-work, … */
export function tracksOf(
  count: number,
): Record<string, { id: string; description: string; depends_on: [] }[]> {
  const tracks: Record<string, { id: string; description: string; depends_on: [] }[]> = {};
  for (let taskCount = 0, track = 0; taskCount < count; track += 1) {
    const name = trackLetters(track);
    const size = Math.min(TASKS_PER_TRACK, count - taskCount);
    tracks[name] = Array.from({ length: size }, (_, index) => ({
      id: `${name}-${String(index + 1).padStart(3, '0')}-work`,
      description: 'one piece of work',
      depends_on: [],
    }));
    taskCount += size;
  }
  return tracks;
}

function trackLetters(index: number): string {
  const letterOf = (value: number) => String.fromCharCode(65 + (value % 26));
  return letterOf(Math.floor(index / 676)) + letterOf(Math.floor(index / 26)) + letterOf(index);
}
