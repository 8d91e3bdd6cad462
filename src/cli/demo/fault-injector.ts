import type { EventEnvelope } from '../../core/events/envelope.js';
import { CONTINUE_LINE } from './agent.js';
import type { DemoProcess } from './fleet.js';

interface InjectedFault {
  readonly agent: DemoProcess;
  readonly task_id: string;
  readonly generation: number;
}

export interface InjectedFaults {
  /** The agent killed while it worked. */
  killed: InjectedFault | null;
  /** The agent frozen past its lease, and resumed once the result of its successor was accepted. */
  zombie: InjectedFault | null;
  isRevived: boolean;
}

/** Number of accepted results after which each fault is injected. */
const KILL_AFTER_RESULTS = 2;
const FREEZE_AFTER_RESULTS = 4;

/** A fault for an agent, and the note that the agent writes to the log before it. */
const KILL = {
  signal: 'SIGKILL',
  done: 'killed',
  note: 'the demo kills this process now (SIGKILL)',
} as const;
const FREEZE = {
  signal: 'SIGSTOP',
  done: 'frozen',
  note: 'the demo freezes this process now (SIGSTOP)',
} as const;

/** Kills one agent while it works, and freezes another until its successor is done. The events of the log tell it when. */
export class FaultInjector {
  readonly faults: InjectedFaults = { killed: null, zombie: null, isRevived: false };
  private results = 0;

  constructor(
    private readonly agents: readonly DemoProcess[],
    private readonly narrate: (line: string) => void,
  ) {}

  onEvent(event: EventEnvelope): void {
    if (event.event_type === 'RESULT_SUBMITTED') this.results += 1;
    if (event.event_type === 'NOTE_ADDED') this.onNote(event);
    const { zombie, isRevived } = this.faults;
    const isOfSuccessor = event.subject === zombie?.task_id && event.agent_id !== zombie?.agent.name;
    if (zombie !== null && !isRevived && isOfSuccessor && event.event_type === 'RESULT_SUBMITTED') {
      zombie.agent.process.kill('SIGCONT');
      sendLine(zombie.agent, CONTINUE_LINE);
      this.faults.isRevived = true;
      this.narrate(`${zombie.agent.name} resumes (SIGCONT), unaware that it lost ${zombie.task_id}`);
    }
  }

  /** An agent writes a note when it starts to work (it has the reply to its claim), and one when it is ready for its fault. */
  private onNote({ agent_id, subject: taskId = '', generation = 0, payload }: EventEnvelope): void {
    const agent = this.agents.find(({ name }) => name === agent_id);
    if (agent === undefined) return;
    const fault = [KILL, FREEZE].find(({ note }) => note === payload.text);
    if (fault === undefined) {
      sendLine(agent, this.chooseFault(agent, taskId, generation)?.note ?? CONTINUE_LINE);
      return;
    }
    agent.process.kill(fault.signal);
    this.narrate(`${agent.name} is ${fault.done} while working on ${taskId} (${fault.signal})`);
  }

  /** Chooses and records the fault for this agent; null if the agent is spared. */
  private chooseFault(agent: DemoProcess, task_id: string, generation: number) {
    // Only first generations: a fault should hit original work, not a takeover.
    if (generation !== 1) return null;
    const { faults, results } = this;
    const isKill = faults.killed === null;
    if (results < (isKill ? KILL_AFTER_RESULTS : FREEZE_AFTER_RESULTS) || faults.zombie !== null) return null;
    faults[isKill ? 'killed' : 'zombie'] = { agent, task_id, generation };
    return isKill ? KILL : FREEZE;
  }
}

/** Writes a line that the agent waits for. */
const sendLine = ({ process }: DemoProcess, line: string): void => void process.stdin?.write(`${line}\n`);
