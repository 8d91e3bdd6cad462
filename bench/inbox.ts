import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { Coordinator } from '../src/coordinator/index.js';
import { ENTERPRISE_LIMITS } from '../src/core/claims/policy.js';
import { Serialiser } from '../src/workspace/inbox/serialiser.js';
import { openWorkspaceStore } from '../src/workspace/store.js';
import { Workspace } from '../src/workspace/workspace.js';
import { newTempFolder } from './harness.js';
import { integerText, table } from './table.js';

const AGENTS = 100;

/** Measures how many commands of 100 agents the serialiser completes per second. */
export async function benchInbox(cycles = 25): Promise<void> {
  const root = await newTempFolder();
  const workspace = new Workspace(root);
  await mkdir(workspace.events, { recursive: true });
  await writeFile(workspace.path('coordination.yml'), 'project: {project_id: bench}\n');
  const { store, blobs, key } = await openWorkspaceStore(workspace, console.error);
  const coordinator = await Coordinator.open({ store, blobs, limits: ENTERPRISE_LIMITS });
  const serialiser = new Serialiser({
    events: workspace.events,
    context: { project: workspace, coordinator, store, blobs, key },
    now: () => new Date(),
    warn: console.error,
  });
  const rows: string[][] = [];
  const measure = async (name: string, writeCommands: () => Promise<void>): Promise<void> => {
    await writeCommands();
    const startMs = performance.now();
    const cpuBefore = process.cpuUsage();
    const { commands, outcomes } = await serialiser.pass();
    const seconds = (performance.now() - startMs) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpuUs = (user + system) / commands;
    rows.push([
      name,
      integerText(commands),
      integerText(commands / seconds),
      integerText(cpuUs),
      JSON.stringify(outcomes),
    ]);
  };
  await measure('warm-up', () => writeAllCommands(workspace, 2, 0));
  await measure(`${cycles} edges of each agent, from claim to convergence`, () =>
    writeAllCommands(workspace, cycles, 1),
  );
  await measure('the same, one command per agent at a time', () => writeAllCommands(workspace, 1, 2));
  console.log(`\nThe inbox: ${AGENTS} agents, one process, outcomes written\n`);
  console.log(table(['', 'commands', 'commands/s', 'CPU µs per command', 'outcomes'], rows.slice(1)));
  coordinator.close();
  await store.close();
  await rm(root, { recursive: true, force: true });
}

/** Writes, for every agent and edge, a claim, a heartbeat, an iteration and a result. */
async function writeAllCommands(workspace: Workspace, cycles: number, seriesNumber: number): Promise<void> {
  for (let agent = 0; agent < AGENTS; agent += 1) {
    const folder = workspace.path('events', 'inbox', `agent-${agent}`);
    await mkdir(folder, { recursive: true });
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const edgeFields = { feature: `F-${agent}-${seriesNumber}-${cycle}`, edge: 'design→code' };
      const handle = { ...edgeFields, generation: 1 };
      const iterationEvent = {
        event_type: 'iteration_completed',
        ...handle,
        iteration: 1,
        status: 'iterating',
        delta: 2,
      };
      const commands = [
        { event_type: 'edge_claim', ...edgeFields, agent_role: 'full_stack' },
        { event_type: 'heartbeat', ...handle },
        iterationEvent,
        { event_type: 'edge_converged', ...handle, iteration: 1, result: { asset: 'src/auth.ts' } },
      ];
      for (const [step, command] of commands.entries()) {
        const name = `${seriesNumber}-${String(cycle).padStart(4, '0')}-${step}.json`;
        await writeFile(`${folder}/.${name}.tmp`, JSON.stringify(command));
        await rename(`${folder}/.${name}.tmp`, `${folder}/${name}`);
      }
    }
  }
}
