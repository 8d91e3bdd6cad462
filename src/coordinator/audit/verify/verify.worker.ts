import { parentPort } from 'node:worker_threads';
import { SignatureRequirements } from '../../../core/audit/unsigned-commands.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../../../core/subject.js';
import { readStoreEvents } from '../../../stores/read-store-events.js';
import type { ProjectKey } from '../../../stores/store.js';
import { type VerifiedStore, verifyStore } from './verify-store.js';

/** A read that the worker requests from the main thread, because only the main thread has the store open. */
export interface StoreRead {
  readonly method: keyof VerifiedStore;
  readonly args: readonly unknown[];
}
export type StoreAnswer = { readonly value: unknown } | { readonly error: string };

/** Worker thread that verifies one log, off the event loop. One read is under way at a time. */
if (parentPort !== null) {
  const port = parentPort;
  const read = (method: keyof VerifiedStore, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      port.once('message', (answer: StoreAnswer) =>
        'error' in answer ? reject(new Error(answer.error)) : resolve(answer.value),
      );
      port.postMessage({ read: { method, args } });
    });
  const store = {
    project: (...args: unknown[]) => read('project', args),
    events: (...args: unknown[]) => read('events', args),
    scanHeads: (...args: unknown[]) => read('scanHeads', args),
    countPermits: (...args: unknown[]) => read('countPermits', args),
  } as unknown as VerifiedStore;
  const verify = async ({ tenant_id, project_id }: ProjectKey) => {
    const requirements = new SignatureRequirements();
    const limitsProject = { tenant_id, project_id: TENANT_PROJECT };
    for await (const event of readStoreEvents(store, limitsProject, { subject: LIMITS_SUBJECT }))
      requirements.visit(event);
    return verifyStore(store, { tenant_id, project_id }, () => {}, {}, requirements);
  };
  // The main thread sends the project after it has attached its own listeners.
  port.once('message', (projectKey: ProjectKey) =>
    verify(projectKey).then(
      (report) => port.postMessage({ report }),
      (error: Error) => port.postMessage({ failed: error.message }),
    ),
  );
}
