import { EventEmitter, once } from 'node:events';
import type { FunctionAnswer } from '../support/step-functions/function-server.js';

export interface FunctionScript {
  /** Call by call; the last answer is repeated. */
  readonly answers: readonly [FunctionAnswer, ...FunctionAnswer[]];
  /** Its nth answer comes after the nth call of these functions. */
  readonly after?: readonly string[];
}

/** Functions that answer as their scripts say, and record their inputs. */
export class ScriptedFunctions {
  private readonly inputs = new Map<string, unknown[]>();
  private readonly called = new EventEmitter().setMaxListeners(0);

  constructor(private readonly scripts: Readonly<Record<string, FunctionScript>>) {}

  /** The inputs of each function, in the order of its calls. */
  get calls(): Record<string, unknown[]> {
    return Object.fromEntries(this.inputs);
  }

  async answer(name: string, input: unknown): Promise<FunctionAnswer> {
    const { answers, after = [] } = this.scripts[name] as FunctionScript;
    const inputs = this.inputs.get(name) ?? [];
    this.inputs.set(name, inputs);
    const call = inputs.push(input);
    this.called.emit('call');
    while (after.some((other) => (this.inputs.get(other)?.length ?? 0) < call))
      await once(this.called, 'call');
    return answers[call - 1] ?? (answers.at(-1) as FunctionAnswer);
  }
}
