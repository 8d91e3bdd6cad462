import { setTimeout as sleep } from 'node:timers/promises';
import { Genesis } from '../../client/index.js';
import type { LogReport } from '../../coordinator/audit/verify/log-verifier.js';
import type { Lineage } from '../../core/contract/tasks.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { emptyWork, evolveWork, isPlanComplete } from '../../core/views/index.js';
import { unwrapReply } from '../replies.js';
import { findLogs } from '../verify/find-logs.js';
import { verifyLog } from '../verify/verify-log.js';
import { FaultInjector } from './fault-injector.js';
import { agentName, type DemoProcess, logFolder, startDemoAgent } from './fleet.js';
import { type Guarantee, guaranteesOf } from './guarantees.js';
import { DEMO_PLAN, DEMO_PROJECT } from './plan.js';

/** The run fails after this long without an event. A slow machine still produces events. */
const IDLE_TIMEOUT_MS = 50_000;

interface DemoRunOptions {
  readonly url: string;
  readonly folder: string;
  readonly agentCount: number;
  /** Receives every agent that is started, so that the caller can end it. */
  readonly agents: DemoProcess[];
  readonly signal: AbortSignal;
  /** Called when the page can be opened. The agents start once it resolves. */
  readonly onReady: () => Promise<void>;
  /** Called for each event of the log. */
  readonly onEvent: (event: EventEnvelope) => void;
  /** Called for each action on the fleet. */
  readonly onNarration: (line: string) => void;
}

/** What the demo has shown. */
export interface DemoReport {
  readonly guarantees: readonly Guarantee[];
  /** The lineage of the zombie's task; null if no agent was frozen. */
  readonly lineage: Lineage | null;
  readonly log: LogReport;
}

/** Runs the fleet on the plan, injects faults, then checks the guarantees against the log. */
export async function runDemo(options: DemoRunOptions): Promise<DemoReport> {
  const genesis = new Genesis({ url: options.url, tenant: 'default', project: DEMO_PROJECT });
  unwrapReply(await genesis.putPlan(DEMO_PLAN));
  await options.onReady();
  for (let index = 0; index < options.agentCount; index += 1) {
    options.agents.push(await startDemoAgent(agentName(index), options.url, options.folder, true));
  }
  options.onNarration(`${options.agents.map(({ name }) => name).join(', ')} start, each in its own process`);
  const faultInjector = new FaultInjector(options.agents, options.onNarration);
  const { events, plan } = await followUntilDone(options, genesis, faultInjector);
  const { faults } = faultInjector;
  const [location] = (await findLogs(`${logFolder(options.folder)}/default`)) ?? [];
  if (location === undefined) throw new Error('The demo wrote no log.');
  const log = await verifyLog(location, () => {});
  const { zombie } = faults;
  const refusedData =
    zombie === null ? null : await refusedResultData(genesis, zombie.task_id, zombie.agent.name);
  const lineage = zombie === null ? null : unwrapReply(await genesis.history(zombie.task_id));
  return { guarantees: guaranteesOf({ plan, events, faults, refusedData, log }), lineage, log };
}

/** Follows the log until the plan is done and the zombie's submission is answered, or until the idle timeout or a signal. */
async function followUntilDone(options: DemoRunOptions, genesis: Genesis, faultInjector: FaultInjector) {
  const state = emptyWork();
  const events: EventEnvelope[] = [];
  const idleController = new AbortController();
  const idleTimer = setTimeout(() => idleController.abort(), IDLE_TIMEOUT_MS);
  const signal = AbortSignal.any([options.signal, idleController.signal]);
  const isResultOfZombie = ({ event_type, agent_id }: EventEnvelope) =>
    event_type.startsWith('RESULT_') &&
    faultInjector.faults.isRevived &&
    agent_id === faultInjector.faults.zombie?.agent.name;
  let isZombieAnswered = false;
  try {
    for await (const { event } of genesis.follow({}, { signal })) {
      idleTimer.refresh();
      events.push(event);
      evolveWork(state, event);
      options.onEvent(event);
      faultInjector.onEvent(event);
      isZombieAnswered ||= isResultOfZombie(event);
      if (isZombieAnswered && isPlanComplete(state)) break;
    }
  } finally {
    clearTimeout(idleTimer);
  }
  // Let the agents' last claim requests finish, so that none is in the middle of a call.
  await sleep(100);
  return { events, plan: state.plan };
}

/** The data of the refused result, read back from the coordinator. */
async function refusedResultData(genesis: Genesis, taskId: string, agentId: string): Promise<unknown> {
  const { results } = unwrapReply(await genesis.results(taskId));
  const refused = results.find((result) => !result.accepted && result.agent_id === agentId);
  if (refused === undefined) return null;
  return unwrapReply(await genesis.result(taskId, refused.id)).result_data ?? null;
}
