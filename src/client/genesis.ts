import { ApiClient } from './api-client.js';
import type { ApiClientOptions } from './endpoint.js';
import { defaultOutbox, Outbox, outboxFolder, type SubmitFinished, type SubmitOutcome } from './outbox.js';
import { LeaseRenewals } from './renewals.js';
import { submitFinished } from './submit-finished.js';
import { WorkLoop } from './work-loop.js';
import type { WorkHandler, WorkOptions, WorkSummary } from './work-options.js';

export interface GenesisOptions extends ApiClientOptions {
  /** Folder for finished results until the server has answered. Default: in the user's state folder. */
  readonly outbox?: string;
  /** Name of the server in the outbox, for a server whose URL may change. Default: the URL. */
  readonly outbox_server?: string;
}

/** The client: every call of the wire contract, and `work`, which runs an agent's loop. */
export class Genesis extends ApiClient {
  private readonly outbox: Outbox;

  constructor(options: GenesisOptions = {}) {
    super(options);
    const root = options.outbox ?? defaultOutbox();
    const { outbox_server = this.url } = options;
    this.outbox = new Outbox(outboxFolder(root, outbox_server, this.tenant, this.project));
  }

  /** Claims work and passes it to `handler`, by default until all work is done. Renews each claim meanwhile. */
  async work(options: WorkOptions, handler: WorkHandler): Promise<WorkSummary> {
    const renewals = await LeaseRenewals.start(this.resolvedOptions(), (renewal) => this.renewOnce(renewal));
    try {
      const dependencies = { client: this, outbox: this.outbox, renewals, submit: this.submitToServer };
      return await new WorkLoop(dependencies, options, handler).run();
    } finally {
      await renewals.stop();
    }
  }

  /** Submits finished results that an earlier run left behind. */
  flushOutbox(): Promise<readonly SubmitOutcome[]> {
    return this.outbox.flush(this.submitToServer);
  }

  /** Outcomes of this project's results that `work` has produced on this machine, as far as the outbox still records them. */
  outcomes(): Promise<readonly SubmitOutcome[]> {
    return this.outbox.outcomes();
  }

  private readonly submitToServer: SubmitFinished = (finished) => submitFinished(this, finished);
}
