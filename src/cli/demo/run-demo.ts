import { setTimeout as sleep } from 'node:timers/promises';
import { Genesis } from '../../client/index.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { emptyWork, evolveWork, isDone, type Lineage } from '../../core/views/index.js';
import { expected } from '../replies.js';
import { findLogs } from '../verify/find-logs.js';
import { type LogReport, verifyLog } from '../verify/verify-log.js';
import { Director } from './director.js';
import { agentName, logFolder, type Running, startDemoAgent } from './fleet.js';
import { type Guarantee, guaranteesOf } from './guarantees.js';
import { DEMO_PLAN, DEMO_PROJECT } from './plan.js';

/** A run in which nothing happens for so long has failed: somebody waits for it. A slow machine only takes longer. */
const SILENCE_MS = 50_000;

export interface DemoStage {
  readonly url: string;
  readonly folder: string;
  readonly agents_count: number;
  /** Every agent that was started, for who must end them. */
  readonly agents: Running[];
  readonly signal: AbortSignal;
  /** The next event of the log. */
  readonly tell: (event: EventEnvelope) => void;
  /** Something that was done to the fleet. */
  readonly say: (line: string) => void;
}

export interface DemoOutcome {
  readonly guarantees: readonly Guarantee[];
  /** Of the work that a zombie came back to. */
  readonly lineage: Lineage | null;
  readonly log: LogReport;
}

/** A fleet works through the plan while things go wrong; then what was promised is held against what happened. */
export async function runDemo(stage: DemoStage): Promise<DemoOutcome> {
  const genesis = new Genesis({ url: stage.url, tenant: 'default', project: DEMO_PROJECT });
  expected(await genesis.putPlan(DEMO_PLAN));
  for (let number = 0; number < stage.agents_count; number += 1) {
    stage.agents.push(await startDemoAgent(agentName(number), stage.url, stage.folder, true));
  }
  stage.say(`${stage.agents.map(({ name }) => name).join(', ')} start, each a process of its own`);
  const director = new Director(stage.agents, stage.say);
  const { events, plan } = await watch(stage, genesis, director);
  const { cast } = director;
  const [place] = (await findLogs(`${logFolder(stage.folder)}/default`)) ?? [];
  if (place === undefined) throw new Error('the demo left no log');
  const log = await verifyLog(place, () => {});
  const kept =
    cast.zombie === null ? null : await keptOf(genesis, cast.zombie.task_id, cast.zombie.agent.name);
  const lineage = cast.zombie === null ? null : expected(await genesis.history(cast.zombie.task_id));
  return { guarantees: guaranteesOf({ plan, events, cast, kept, log }), lineage, log };
}

/** Follows the log until the plan is done and the zombie has had its answer, or until nothing happens any more. */
async function watch(stage: DemoStage, genesis: Genesis, director: Director) {
  const state = emptyWork();
  const events: EventEnvelope[] = [];
  const ending = new AbortController();
  const silence = setTimeout(() => ending.abort(), SILENCE_MS);
  const signal = AbortSignal.any([stage.signal, ending.signal]);
  const isZombies = ({ event_type, agent_id }: EventEnvelope) =>
    event_type.startsWith('RESULT_') &&
    director.cast.revived &&
    agent_id === director.cast.zombie?.agent.name;
  let answered = false;
  try {
    for await (const { event } of genesis.follow({}, { signal })) {
      silence.refresh();
      events.push(event);
      evolveWork(state, event);
      stage.tell(event);
      director.see(event);
      answered ||= isZombies(event);
      if (answered && isDone(state)) break;
    }
  } finally {
    clearTimeout(silence);
  }
  // Whoever asks for work once more learns that there is none: nobody is left in the middle of a call.
  await sleep(100);
  return { events, plan: state.plan };
}

/** The refused result's own data, read back from the coordinator. */
async function keptOf(genesis: Genesis, task_id: string, agent_id: string): Promise<unknown> {
  const { results } = expected(await genesis.results(task_id));
  const refused = results.find((result) => !result.accepted && result.agent_id === agent_id);
  if (refused === undefined) return null;
  return expected(await genesis.result(task_id, refused.id)).result_data ?? null;
}
