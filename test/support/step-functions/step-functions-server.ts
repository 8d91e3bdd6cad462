import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { StateMachine } from '../../../src/core/engine/asl.js';
import type { MachineOutcome } from '../../../src/engine/interpreter/run-machine.js';
import type { MissingDatabase } from '../../../src/stores/testing/database.js';
import { findInstalledProgram } from '../../../src/stores/testing/program.js';
import { newServerLocation, ServerProcess } from '../../../src/stores/testing/server-process.js';
import { type FunctionAnswer, FunctionServer } from './function-server.js';

const STAND_IN = fileURLToPath(new URL('./stand-in.py', import.meta.url));
const POLL_PAUSE_MS = 100;
const ROLE = 'arn:aws:iam::123456789012:role/test';

/** A stand-in for AWS Step Functions, whose functions run in this process. */
export class StepFunctionsServer {
  private constructor(
    private readonly server: ServerProcess,
    private readonly client: SFNClient,
    readonly functions: FunctionServer,
  ) {}

  static async start(): Promise<StepFunctionsServer | MissingDatabase> {
    const python = findInstalledProgram('python3');
    if (python === null) return { missing: 'python3 is not installed' };
    if (spawnSync(python, [STAND_IN]).status !== 0)
      return { missing: 'python3 has no moto with the engine of Step Functions (tried with moto 5.2.1)' };
    const functions = await FunctionServer.start();
    const location = await newServerLocation('step-functions');
    const endpoint = `http://127.0.0.1:${location.port}`;
    const spec = {
      name: 'The stand-in for Step Functions',
      command: () => ({ program: python, args: [STAND_IN, String(location.port), functions.url] }),
      isReady: () =>
        fetch(endpoint).then(
          () => true,
          () => false,
        ),
    };
    const server = await ServerProcess.start(spec, location);
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    return new StepFunctionsServer(
      server,
      new SFNClient({ endpoint, region: 'eu-west-1', credentials }),
      functions,
    );
  }

  /** Runs the machine to its end. */
  async run(machine: StateMachine, input: unknown): Promise<MachineOutcome> {
    const { stateMachineArn } = await this.client.send(
      new CreateStateMachineCommand({
        name: randomUUID(),
        definition: JSON.stringify(machine),
        roleArn: ROLE,
      }),
    );
    const { executionArn } = await this.client.send(
      new StartExecutionCommand({ stateMachineArn, name: randomUUID(), input: JSON.stringify(input) }),
    );
    for (;;) {
      const { status, output, error, cause } = await this.client.send(
        new DescribeExecutionCommand({ executionArn }),
      );
      if (status === 'SUCCEEDED') return { status, output: JSON.parse(output as string) };
      if (status === 'FAILED') return { status, error: error ?? '', cause: cause ?? '' };
      if (status === 'TIMED_OUT') return { status: 'FAILED', error: 'States.Timeout', cause: cause ?? '' };
      if (status !== 'RUNNING') throw new Error(`The execution is ${status}.`);
      await pause(POLL_PAUSE_MS);
    }
  }

  /** Ends the task that waits for the token. */
  async sendAnswer(taskToken: string, answer: FunctionAnswer): Promise<void> {
    if ('error' in answer)
      await this.client.send(
        new SendTaskFailureCommand({ taskToken, error: answer.error, cause: answer.cause }),
      );
    else
      await this.client.send(
        new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(answer.result) }),
      );
  }

  async stop(): Promise<void> {
    this.client.destroy();
    await this.server.stop();
    await this.functions.stop();
  }
}
