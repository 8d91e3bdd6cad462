import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifyLog } from '../../cli/verify/verify-log.js';
import { reproducibleRandom } from '../../stores/file/testing.js';
import { childProgram } from '../testing/child-program.js';
import {
  bareWorkspace,
  namesInWorkspace,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { Workspace } from '../workspace.js';

const ROUNDS = Number(process.env.ROUNDS ?? 8);
/** A hang detector, not a speed limit: it grows with the number of rounds. */
const HANGS_AFTER_MS = (15 + ROUNDS) * 60_000;
const ROUNDS_PER_WORKSPACE = 10;
const AGENTS = ['a-01', 'b-01', 'c-01', 'd-01'];
const EDGE = 'code↔unit_tests';

const serialiser = childProgram(join(import.meta.dirname, 'serialiser.child.ts'));

/** Serves for this many steps, then is killed during the next. */
async function serveAndDie({ root }: Workspace, steps: number): Promise<void> {
  const { process, lines, ended } = serialiser(root);
  let stepsLeft = steps;
  for await (const _ of lines) {
    stepsLeft -= 1;
    if (stepsLeft === 0) process.kill('SIGKILL');
  }
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
}

/** One agent's commands in a round: its own edge from claim to end, and one edge that all agents want. */
function commandsOf(agentId: string, round: number): Record<string, object> {
  const paddedRound = String(round).padStart(4, '0');
  const edgeFields = { feature: `F-${agentId}-${paddedRound}`, edge: EDGE };
  const claimFields = { ...edgeFields, generation: 1 };
  const end =
    round % 2 === 0
      ? { event_type: 'edge_converged', ...claimFields, result: { round } }
      : { event_type: 'edge_released', ...claimFields };
  return {
    [`${paddedRound}-0.json`]: { event_type: 'edge_claim', feature: `F-all-${paddedRound}`, edge: EDGE },
    [`${paddedRound}-1.json`]: { event_type: 'edge_claim', ...edgeFields },
    [`${paddedRound}-2.json`]: { event_type: 'heartbeat', ...claimFields },
    [`${paddedRound}-3.json`]: {
      event_type: 'iteration_completed',
      ...claimFields,
      iteration: 1,
      status: 'iterating',
    },
    [`${paddedRound}-4.json`]: end,
  };
}

async function writeRoundToInboxes(workspace: Workspace, round: number): Promise<void> {
  await Promise.all(
    AGENTS.map(async (agentId) => {
      for (const [name, command] of Object.entries(commandsOf(agentId, round))) {
        await writeInboxCommand(workspace, agentId, name, command);
      }
    }),
  );
}

const TYPES = ['edge_started', 'heartbeat', 'iteration_completed'];
const CODES = ['GRANTED', 'RENEWED', 'APPENDED'];

async function inspectLog(workspace: Workspace, rounds: readonly number[]): Promise<void> {
  const harness = await WorkspaceHarness.open(workspace);
  await harness.serialiser.pass();
  const events = await harness.events();
  await harness.close();
  // Signs of life are not counted, because their number depends on the clock.
  const isSignOfLife = ({ event_type, request_id }: (typeof events)[number]) =>
    event_type === 'heartbeat' && request_id === undefined;
  const typesOf = (feature: string): string[] =>
    events
      .filter((event) => event.feature_id === feature && !isSignOfLife(event))
      .map(({ event_type }) => event_type);
  expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
  for (const round of rounds) {
    const paddedRound = String(round).padStart(4, '0');
    const shared = typesOf(`F-all-${paddedRound}`);
    expect(shared.toSorted()).toEqual([...Array(AGENTS.length - 1).fill('claim_rejected'), 'edge_started']);
    for (const agentId of AGENTS) {
      const end = round % 2 === 0 ? 'edge_converged' : 'edge_released';
      expect(typesOf(`F-${agentId}-${paddedRound}`)).toEqual([...TYPES, end]);
      const names = Object.keys(commandsOf(agentId, round)).slice(1);
      const outcomesOfRound = await Promise.all(names.map((name) => readOutcome(workspace, agentId, name)));
      const endCode = round % 2 === 0 ? 'ACCEPTED' : 'RELEASED';
      expect(outcomesOfRound.map(({ reply }) => reply.reason)).toEqual([...CODES, endCode]);
    }
  }
  for (const agentId of AGENTS) {
    expect(await namesInWorkspace(workspace, 'inbox', agentId)).toEqual([]);
    const names = rounds.flatMap((round) => Object.keys(commandsOf(agentId, round)));
    const outcomes = (await namesInWorkspace(workspace, 'outcome', agentId)).filter(
      (name) => !name.startsWith('.'),
    );
    expect(outcomes).toEqual(names.sort());
  }
  expect((await verifyLog({ folder: workspace.events }, () => {})).breaks).toEqual([]);
}

// req: INB-007, INB-011
it(
  `executes every command once and writes its outcome across ${ROUNDS} kills of the serialiser`,
  async () => {
    const random = reproducibleRandom(11);
    for (let firstRound = 0; firstRound < ROUNDS; firstRound += ROUNDS_PER_WORKSPACE) {
      const workspace = await bareWorkspace();
      const rounds = Array.from(
        { length: Math.min(ROUNDS_PER_WORKSPACE, ROUNDS - firstRound) },
        (_, index) => index,
      );
      for (const round of rounds) {
        const writing = writeRoundToInboxes(workspace, round);
        // Each command takes four steps; some are always left to the next process, or to the final pass.
        await Promise.all([writing, serveAndDie(workspace, 1 + Math.floor(random() * 76))]);
      }
      await inspectLog(workspace, rounds);
    }
  },
  HANGS_AFTER_MS,
);
