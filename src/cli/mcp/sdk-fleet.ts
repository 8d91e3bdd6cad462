import { type ApiProblem, type Genesis, isProblem } from '../../client/index.js';
import type {
  Claimant,
  McpBackend,
  McpHandle,
  McpNextRequest,
  McpProblem,
  McpReleaseRequest,
  McpSubmission,
  SubjectSelector,
} from '../../server/mcp/backend.js';

/** The MCP backend that calls a server through the SDK. */
export class SdkFleet implements McpBackend {
  constructor(private readonly genesis: Genesis) {}

  next(request: McpNextRequest) {
    return toFleetReply(this.genesis.next(withoutUndefined(request)));
  }

  claim(request: SubjectSelector, claimant: Claimant) {
    return toFleetReply(
      this.genesis.claimTask({ ...withoutUndefined(request), ...withoutUndefined(claimant) }),
    );
  }

  renew(handle: McpHandle, lease_duration_seconds?: number) {
    return toFleetReply(
      this.genesis.renewLease({
        ...withExpectedGeneration(handle),
        ...withoutUndefined({ lease_duration_seconds }),
      }),
    );
  }

  submit(handle: McpHandle, submission: McpSubmission) {
    return toFleetReply(this.genesis.submitResult({ ...handle, ...withoutUndefined(submission) }));
  }

  release(handle: McpHandle, request: McpReleaseRequest) {
    return toFleetReply(
      this.genesis.releaseClaim({ ...withExpectedGeneration(handle), ...withoutUndefined(request) }),
    );
  }

  note(handle: McpHandle, text: string) {
    return toFleetReply(this.genesis.note({ ...handle, text }));
  }

  task(taskId: string) {
    return toFleetReply(this.genesis.task(taskId));
  }

  status() {
    return toFleetReply(this.genesis.status());
  }

  explain(taskId: string) {
    return toFleetReply(this.genesis.explain(taskId));
  }
}

const withExpectedGeneration = ({ generation, ...rest }: McpHandle) => ({
  ...rest,
  expected_generation: generation,
});

async function toFleetReply<T extends object>(
  pendingReply: Promise<T | ApiProblem>,
): Promise<T | McpProblem> {
  const reply = await pendingReply;
  return isProblem(reply) ? { problem: reply.code, detail: reply.detail, faults: reply.faults } : reply;
}

type WithoutUndefined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

const withoutUndefined = <T extends object>(fields: T): WithoutUndefined<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<T>;
