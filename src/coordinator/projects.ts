import type { Limits } from '../core/claims/policy.js';
import type { RecordHead } from '../core/record.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../core/subject.js';
import type { ProjectKey, Store, StoreMeta } from '../stores/store.js';
import { Backoff } from './backoff.js';
import type { Environment } from './environment.js';
import type { Reply } from './problem.js';
import { Project } from './project.js';
import { scopeFault, tenantFault } from './scope.js';
import { storeProblem } from './store-problem.js';
import { StoreTime, skewMarginMs } from './store-time.js';
import type { Witness } from './witness.js';

interface Setup {
  readonly store: Store;
  readonly environment: Environment;
  readonly default_limits: Limits;
  /** Undefined: what each store asks for. */
  readonly skew_margin_ms: number | undefined;
  readonly witness: Witness;
}

/** What a store says of itself. Tenants may live in stores of their own, and each has its own clock. */
interface House {
  readonly meta: StoreMeta;
  readonly time: StoreTime;
  readonly backoff: Backoff;
}

/** What belongs to a tenant as a whole, and holds in all its projects: its limits. */
export class Tenant {
  private said: RecordHead | undefined;
  private limits: Limits;

  constructor(
    readonly project: Project,
    private readonly default_limits: Limits,
  ) {
    this.limits = default_limits;
  }

  /** Asked for with every command, and made anew only when somebody has changed them. */
  currentLimits(): Limits {
    const said = this.project.state.records.get(LIMITS_SUBJECT);
    if (said !== this.said) {
      this.said = said;
      this.limits = { ...this.default_limits, ...(said?.value as Partial<Limits> | undefined) };
    }
    return this.limits;
  }
}

/** The projects at work in this coordinator, each loaded with its first command. */
export class Projects {
  private readonly loaded = new Map<string, Promise<Project>>();
  private readonly tenants = new Map<string, Promise<Tenant>>();
  private readonly ready = new Set<Project>();
  private readonly at_work = new Map<string, Map<string, Project>>();
  /** How many use a project, by its name, of those that came when nothing had happened in it. */
  private readonly users = new Map<string, number>();

  private readonly houses = new Map<Store, Promise<House>>();

  private constructor(private readonly setup: Setup) {}

  static async open(setup: Setup): Promise<Projects> {
    const projects = new Projects(setup);
    await projects.house(setup.store);
    return projects;
  }

  all(): Iterable<Project> {
    return this.ready;
  }

  /** The ids of a tenant's projects; what belongs to the tenant as a whole is none of them. */
  async idsOf(tenant_id: string): Promise<string[]> {
    if (tenantFault(tenant_id) !== null) return [];
    return (await this.setup.store.projects(tenant_id)).filter((project_id) => project_id !== TENANT_PROJECT);
  }

  tenant(tenant_id: string): Promise<Tenant> {
    return remembered(this.tenants, tenant_id, async () => {
      const key = { tenant_id, project_id: TENANT_PROJECT };
      const limits = () => this.setup.default_limits;
      const project = await this.load(key, limits);
      this.ready.add(project);
      return new Tenant(project, this.setup.default_limits);
    });
  }

  /** The project, for as long as somebody uses it, who says so with `leave`. */
  enter(key: ProjectKey): Promise<Project> {
    const name = nameOf(key);
    this.users.set(name, (this.users.get(name) ?? 0) + 1);
    return this.get(key);
  }

  /** A project in which nothing ever happened goes with the last who used it: to ask for a name costs nothing. */
  leave(key: ProjectKey): void {
    const name = nameOf(key);
    const left = (this.users.get(name) ?? 1) - 1;
    if (left > 0) {
      this.users.set(name, left);
      return;
    }
    this.users.delete(name);
    const ofTenant = this.at_work.get(key.tenant_id);
    const project = ofTenant?.get(key.project_id);
    if (project?.state.position !== 0) return;
    this.loaded.delete(name);
    this.ready.delete(project);
    ofTenant?.delete(key.project_id);
  }

  private get(key: ProjectKey): Promise<Project> {
    return remembered(this.loaded, nameOf(key), async () => {
      const tenant = await this.tenant(key.tenant_id);
      const project = await this.load(key, () => tenant.currentLimits());
      this.ready.add(project);
      const ofTenant = this.at_work.get(key.tenant_id) ?? new Map<string, Project>();
      this.at_work.set(key.tenant_id, ofTenant.set(key.project_id, project));
      return project;
    });
  }

  /** Runs a command in a project; a name that is none, and a store that cannot be reached, are problems, not exceptions. */
  in<T>(key: ProjectKey, work: (project: Project) => Reply<T>): Reply<T> {
    const project = this.atWork(key);
    return project === undefined ? this.entered(key, work) : work(project);
  }

  /** The same for a question: it is answered by a project that has read what others have committed until now. */
  current<T>(key: ProjectKey, ask: (project: Project) => Reply<T>): Reply<T> {
    return this.entered(key, async (project) => {
      if (!this.setup.store.capabilities.single_writer) await project.follow();
      return ask(project);
    });
  }

  private async entered<T>(key: ProjectKey, work: (project: Project) => Reply<T>): Reply<T> {
    const fault = scopeFault(key);
    if (fault !== null) return fault;
    try {
      return await reachable(async () => work(await this.enter(key)));
    } finally {
      this.leave(key);
    }
  }

  /** The project, where it is at work: then its name is good, and a command to it waits for nothing. */
  private atWork({ tenant_id, project_id }: ProjectKey): Project | undefined {
    const project = this.at_work.get(tenant_id)?.get(project_id);
    return project?.state.position === 0 ? undefined : project;
  }

  private async load({ tenant_id, project_id }: ProjectKey, limits: () => Limits): Promise<Project> {
    const { environment, witness } = this.setup;
    const store = (await this.setup.store.storeOf?.(tenant_id)) ?? this.setup.store;
    const { meta, time, backoff } = await this.house(store);
    const skew_margin_ms = this.setup.skew_margin_ms ?? skewMarginMs(store);
    return Project.load(
      { tenant_id, project_id },
      { store, meta, environment, time, backoff, limits, skew_margin_ms, witness },
    );
  }

  private house(store: Store): Promise<House> {
    return remembered(this.houses, store, async () => {
      const time = new StoreTime(this.setup.environment.clock);
      time.tell(await store.now());
      return { time, backoff: new Backoff(this.setup.environment), meta: await store.meta() };
    });
  }
}

const nameOf = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

/** A store that cannot be reached, or a damaged log, is a problem and not an exception. */
export async function reachable<T>(ask: () => Reply<T>): Reply<T> {
  try {
    return await ask();
  } catch (error) {
    const found = storeProblem(error);
    if (found !== null) return found;
    throw error;
  }
}

/** One load per key, however many ask at once; a load that failed is tried again by the next. */
function remembered<K, T>(known: Map<K, Promise<T>>, key: K, load: () => Promise<T>): Promise<T> {
  const found = known.get(key);
  if (found !== undefined) return found;
  const loading = load();
  known.set(key, loading);
  loading.catch(() => known.delete(key));
  return loading;
}
