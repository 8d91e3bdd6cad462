import type { EventEnvelope } from '../../core/events/envelope.js';
import type { DemoProcess } from './fleet.js';

interface InjectedFault {
  readonly agent: DemoProcess;
  readonly task_id: string;
  readonly generation: number;
}

export interface InjectedFaults {
  /** The agent killed while it worked. */
  killed: InjectedFault | null;
  /** The agent frozen past its lease, and resumed once its task had another holder. */
  zombie: InjectedFault | null;
  isRevived: boolean;
}

/** Number of accepted results after which each fault is injected. */
const KILL_AFTER_RESULTS = 2;
const FREEZE_AFTER_RESULTS = 4;

/** Kills one agent while it works, and freezes another until its successor is done, as the events show. */
export class FaultInjector {
  readonly faults: InjectedFaults = { killed: null, zombie: null, isRevived: false };
  private results = 0;

  constructor(
    private readonly agents: readonly DemoProcess[],
    private readonly narrate: (line: string) => void,
  ) {}

  onEvent(event: EventEnvelope): void {
    if (event.event_type === 'RESULT_SUBMITTED') this.results += 1;
    if (event.event_type === 'NOTE_ADDED') this.onWorkStarted(event);
    const { zombie, isRevived } = this.faults;
    const isSuccessors = event.subject === zombie?.task_id && event.agent_id !== zombie?.agent.name;
    if (zombie !== null && !isRevived && isSuccessors && event.event_type === 'RESULT_SUBMITTED') {
      zombie.agent.process.kill('SIGCONT');
      allowFinish(zombie.agent);
      this.faults.isRevived = true;
      this.narrate(`${zombie.agent.name} resumes (SIGCONT), unaware that it lost ${zombie.task_id}`);
    }
  }

  /** The agent reported that it works on the task, so the claim reply has reached it. */
  private onWorkStarted({ agent_id, subject: taskId = '', generation = 0 }: EventEnvelope): void {
    const agent = this.agents.find(({ name }) => name === agent_id);
    if (agent !== undefined && !this.injectsFault(agent, taskId, generation)) allowFinish(agent);
  }

  private injectsFault(agent: DemoProcess, task_id: string, generation: number): boolean {
    // Only first generations: a fault should hit original work, not a takeover.
    if (generation !== 1) return false;
    const { faults, results } = this;
    const isKill = faults.killed === null;
    if (results < (isKill ? KILL_AFTER_RESULTS : FREEZE_AFTER_RESULTS) || faults.zombie !== null)
      return false;
    faults[isKill ? 'killed' : 'zombie'] = { agent, task_id, generation };
    const signal = isKill ? 'SIGKILL' : 'SIGSTOP';
    agent.process.kill(signal);
    this.narrate(`${agent.name} is ${isKill ? 'killed' : 'frozen'} while working on ${task_id} (${signal})`);
    return true;
  }
}

/** Lets a directed agent finish its current task. */
const allowFinish = ({ process }: DemoProcess): void => void process.stdin?.write('seen\n');
