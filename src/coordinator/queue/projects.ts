import type { Limits } from '../../core/claims/policy.js';
import { didYouMean } from '../../core/closest-names.js';
import { adviceFor } from '../../core/contract/codes.js';
import type { RecordHead } from '../../core/record.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../../core/subject.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../../stores/store.js';
import type { Environment } from '../runtime/environment.js';
import type { Observer } from '../runtime/observer.js';
import { isImportUnfinished, unfinishedImportText } from '../transfer/unfinished-import.js';
import { type AsyncReply, catchStoreErrors, type Problem, problem } from '../wire/problem.js';
import { projectKeyProblem, tenantProblem } from '../wire/project-key.js';
import { Backoff } from './backoff.js';
import type { ProjectServices } from './commit-path.js';
import { Project } from './project.js';
import { StoreTime, skewMarginMs } from './store-time.js';

/** The limits of a tenant that has set none. The same object until they change. */
export type DefaultLimits = () => Limits;

interface ProjectsOptions {
  readonly store: Store;
  readonly environment: Environment;
  readonly defaultLimits: DefaultLimits;
  /** Undefined: the default of each store. */
  readonly skewMarginMs: number | undefined;
  readonly observer: Observer;
  readonly isAudited: boolean;
}

/** Turns the problem of an unknown project into the refusal of a command. */
type RefuseUnknown<T> = (unknown: Problem) => T | Problem;

/** What all projects of one store share. Tenants may have their own stores, and each store has its own clock. */
type StoreRuntime = Pick<ProjectServices, 'meta' | 'storeTime' | 'backoff'>;

/** A tenant's limits, which apply in all its projects. */
class TenantLimits {
  private limitsRecord: RecordHead | undefined;
  private limits: Limits;
  private defaults: Limits;

  constructor(
    readonly project: Project,
    private readonly defaultLimits: DefaultLimits,
  ) {
    this.defaults = defaultLimits();
    this.limits = this.defaults;
  }

  /** Called for every command, so the limits are rebuilt only after their record or the defaults changed. */
  currentLimits(): Limits {
    const record = this.project.state.records.get(LIMITS_SUBJECT);
    const defaults = this.defaultLimits();
    if (record !== this.limitsRecord || defaults !== this.defaults) {
      this.limitsRecord = record;
      this.defaults = defaults;
      this.limits = { ...defaults, ...this.changedLimits() };
    }
    return this.limits;
  }

  /** The limits of the tenant that an admin has changed. */
  changedLimits(): Partial<Limits> {
    return limitsIn(this.project.state.records.get(LIMITS_SUBJECT));
  }
}

const limitsIn = (record: RecordHead | null | undefined): Partial<Limits> =>
  (record?.value as Partial<Limits> | undefined) ?? {};

/**
 * The loaded projects of this coordinator. Each is loaded by its first command, query or stream, because it has claims, or
 * for a visit: one piece of background work, after which it is unloaded.
 */
export class Projects {
  private readonly projectPromises = new Map<string, Promise<Project>>();
  private readonly tenantPromises = new Map<string, Promise<TenantLimits>>();
  private readonly loadedProjects = new Set<Project>();
  private readonly activeByTenant = new Map<string, Map<string, Project>>();
  /** Number of current users per project. A command that finds the project active needs no reference and is not counted. */
  private readonly referenceCounts = new Map<string, number>();

  /** The projects that no command, query or stream here has used yet, and why they are loaded. */
  private readonly unusedProjects = new Map<string, 'watched' | 'visited'>();
  /** Tenants whose limits were loaded for visits only. */
  private readonly visitedTenants = new Set<string>();

  private readonly storeRuntimes = new Map<Store, Promise<StoreRuntime>>();

  private constructor(private readonly options: ProjectsOptions) {}

  static async open(options: ProjectsOptions): Promise<Projects> {
    const projects = new Projects(options);
    await projects.storeRuntimeOf(options.store);
    return projects;
  }

  listLoaded(): Iterable<Project> {
    return this.loadedProjects;
  }

  /** Loads a project that no client uses here, to record its expiries. */
  async watch(projectKey: ProjectKey): Promise<void> {
    const name = cacheKeyOf(projectKey);
    const isLoaded = this.isLoaded(projectKey);
    if (!isLoaded || this.unusedProjects.get(name) === 'visited') this.unusedProjects.set(name, 'watched');
    if (!isLoaded) await this.get(projectKey);
  }

  /**
   * Loads a project for some work, and unloads it again unless it is in use by then or has claims. Returns null without
   * running the work if the project is already loaded. Visits must not overlap.
   */
  async visitProject<T>(projectKey: ProjectKey, work: (project: Project) => Promise<T>): Promise<T | null> {
    if (this.isLoaded(projectKey)) return null;
    const { tenant_id } = projectKey;
    if (!this.tenantPromises.has(tenant_id)) this.visitedTenants.add(tenant_id);
    this.unusedProjects.set(cacheKeyOf(projectKey), 'visited');
    try {
      return await work(await this.get(projectKey));
    } finally {
      this.endVisit(projectKey);
      await this.unloadVisitedTenant(tenant_id);
    }
  }

  /** Whether the project is loaded, or is being loaded. */
  isLoaded(projectKey: ProjectKey): boolean {
    return this.projectPromises.has(cacheKeyOf(projectKey));
  }

  /** Whether no command, query or stream here has used the project yet. */
  isOnlyWatched(project: Project): boolean {
    return this.unusedProjects.has(cacheKeyOf(project.key));
  }

  /** The ids of a tenant's projects, without the internal project that holds its limits. */
  async projectIdsOf(tenantId: string): Promise<string[]> {
    if (tenantProblem(tenantId) !== null) return [];
    return (await this.options.store.projects(tenantId)).filter((projectId) => projectId !== TENANT_PROJECT);
  }

  /** A tenant's limits as the store has them, without loading anything. */
  async readLimits(tenant_id: string): Promise<Limits> {
    const { store, defaultLimits } = this.options;
    const [record] = await store.heads({ tenant_id, project_id: TENANT_PROJECT }, [LIMITS_SUBJECT]);
    return { ...defaultLimits(), ...limitsIn(record as RecordHead | null) };
  }

  /** Loads a tenant's limits, and keeps them loaded when a visit ends. */
  keepTenantLimits(tenant_id: string): Promise<TenantLimits> {
    this.visitedTenants.delete(tenant_id);
    return this.loadTenantLimits(tenant_id);
  }

  private loadTenantLimits(tenant_id: string): Promise<TenantLimits> {
    return memoizedLoad(this.tenantPromises, tenant_id, async () => {
      const { defaultLimits } = this.options;
      const project = await this.load({ tenant_id, project_id: TENANT_PROJECT }, defaultLimits);
      return new TenantLimits(project, defaultLimits);
    });
  }

  /** Loads the project and keeps it until a matching `dropReference`. */
  addReference(projectKey: ProjectKey): Promise<Project> {
    const name = cacheKeyOf(projectKey);
    this.unusedProjects.delete(name);
    this.referenceCounts.set(name, (this.referenceCounts.get(name) ?? 0) + 1);
    return this.get(projectKey);
  }

  /** Unloads an empty project when its last user leaves, so that requests for arbitrary names cost no memory. */
  dropReference(projectKey: ProjectKey): void {
    const name = cacheKeyOf(projectKey);
    const remaining = (this.referenceCounts.get(name) ?? 1) - 1;
    if (remaining > 0) {
      this.referenceCounts.set(name, remaining);
      return;
    }
    this.referenceCounts.delete(name);
    const project = this.activeByTenant.get(projectKey.tenant_id)?.get(projectKey.project_id);
    if (project?.state.position === 0) this.unload(project);
  }

  private endVisit({ tenant_id, project_id }: ProjectKey): void {
    const name = cacheKeyOf({ tenant_id, project_id });
    if (this.unusedProjects.get(name) !== 'visited') return;
    const project = this.activeByTenant.get(tenant_id)?.get(project_id);
    if (project !== undefined && project.state.bySession.size > 0) {
      this.unusedProjects.set(name, 'watched');
      return;
    }
    this.unusedProjects.delete(name);
    if (project !== undefined) this.unload(project);
  }

  private unload(project: Project): void {
    const { tenant_id, project_id } = project.key;
    this.projectPromises.delete(cacheKeyOf(project.key));
    this.loadedProjects.delete(project);
    const tenantProjects = this.activeByTenant.get(tenant_id);
    tenantProjects?.delete(project_id);
    if (tenantProjects?.size === 0) this.activeByTenant.delete(tenant_id);
    project.release();
  }

  /** Unloads the tenant's limits, unless they are kept, or another project of the tenant is loaded. */
  private async unloadVisitedTenant(tenantId: string): Promise<void> {
    const tenant = await this.tenantPromises.get(tenantId)?.catch(() => null);
    if (this.activeByTenant.has(tenantId) || !this.visitedTenants.delete(tenantId)) return;
    if (tenant == null) return;
    this.tenantPromises.delete(tenantId);
    this.loadedProjects.delete(tenant.project);
    tenant.project.release();
  }

  private get(projectKey: ProjectKey): Promise<Project> {
    const name = cacheKeyOf(projectKey);
    return memoizedLoad(this.projectPromises, name, async () => {
      const { tenant_id } = projectKey;
      const isVisited = this.unusedProjects.get(name) === 'visited';
      const tenant = await (isVisited ? this.loadTenantLimits(tenant_id) : this.keepTenantLimits(tenant_id));
      const project = await this.load(projectKey, () => tenant.currentLimits());
      const tenantProjects = this.activeByTenant.get(projectKey.tenant_id) ?? new Map<string, Project>();
      this.activeByTenant.set(projectKey.tenant_id, tenantProjects.set(projectKey.project_id, project));
      return project;
    });
  }

  /**
   * Runs a command in a project that exists. An unknown or invalid name and an unreachable store are problems, not
   * exceptions.
   */
  withProject<T>(
    projectKey: ProjectKey,
    work: (project: Project) => AsyncReply<T>,
    refuseUnknown?: RefuseUnknown<T>,
  ): AsyncReply<T> {
    const project = this.activeProject(projectKey);
    return project === undefined ? this.withRefreshedProject(projectKey, work, refuseUnknown) : work(project);
  }

  /** Like `withProject`, for a command that creates the project if there is none. */
  withProjectOrCreate<T>(projectKey: ProjectKey, work: (project: Project) => AsyncReply<T>): AsyncReply<T> {
    const project = this.activeProject(projectKey);
    return project === undefined ? this.withReference(projectKey, work) : work(project);
  }

  /** Works like `withProject`, after reading what other coordinators have committed. */
  withRefreshedProject<T>(
    projectKey: ProjectKey,
    work: (project: Project) => AsyncReply<T>,
    refuseUnknown: RefuseUnknown<T> = (unknown) => unknown,
  ): AsyncReply<T> {
    return this.withReference(projectKey, async (project) => {
      if (!this.options.store.capabilities.single_writer) await project.refresh();
      const unknown = project.state.position > 0 ? null : await this.unknownProblem(projectKey);
      return unknown === null ? work(project) : refuseUnknown(unknown);
    });
  }

  /** The problem of a project without events; null for the home project of the store, which exists without events. */
  async unknownProblem({ tenant_id, project_id }: ProjectKey): Promise<Problem | null> {
    const { home } = this.options.store;
    if (home?.tenant_id === tenant_id && home.project_id === project_id) return null;
    const suggestion = didYouMean(project_id, await this.projectIdsOf(tenant_id));
    const advice = adviceFor('UNKNOWN_PROJECT');
    return problem('UNKNOWN_PROJECT', `There is no project ${project_id}.${suggestion} ${advice}`);
  }

  /** Runs a query, which may run more than once. What it returns is durable. */
  query<T>(projectKey: ProjectKey, query: (project: Project) => AsyncReply<T>): AsyncReply<T> {
    return this.withRefreshedProject(projectKey, (project) => project.readDurable(() => query(project)));
  }

  private async withReference<T>(
    projectKey: ProjectKey,
    work: (project: Project) => AsyncReply<T>,
  ): AsyncReply<T> {
    const keyProblem = projectKeyProblem(projectKey);
    if (keyProblem !== null) return keyProblem;
    try {
      return await catchStoreErrors(async () => work(await this.addReference(projectKey)));
    } finally {
      this.dropReference(projectKey);
    }
  }

  /**
   * The project if it is loaded and has events: its name is valid, and a command need not wait. Notes that the project is
   * in use.
   */
  activeProject({ tenant_id, project_id }: ProjectKey): Project | undefined {
    const project = this.activeByTenant.get(tenant_id)?.get(project_id);
    if (this.unusedProjects.size > 0) this.unusedProjects.delete(cacheKeyOf({ tenant_id, project_id }));
    return project?.state.position === 0 ? undefined : project;
  }

  private async load({ tenant_id, project_id }: ProjectKey, limits: () => Limits): Promise<Project> {
    const { environment, observer, isAudited } = this.options;
    const store = (await this.options.store.storeOf?.(tenant_id)) ?? this.options.store;
    const runtime = await this.storeRuntimeOf(store);
    const marginMs = this.options.skewMarginMs ?? skewMarginMs(store);
    const services = { ...runtime, store, environment, limits, skewMarginMs: marginMs, observer, isAudited };
    // After an interrupted import, the project has only a part of its history.
    if (await isImportUnfinished(store, { tenant_id, project_id }))
      throw new StoreUnavailable(unfinishedImportText({ tenant_id, project_id }));
    const project = await Project.load({ tenant_id, project_id }, services);
    this.loadedProjects.add(project);
    return project;
  }

  private storeRuntimeOf(store: Store): Promise<StoreRuntime> {
    return memoizedLoad(this.storeRuntimes, store, async () => {
      const storeTime = new StoreTime(this.options.environment.clock);
      storeTime.sync(await store.now());
      return { storeTime, backoff: new Backoff(this.options.environment), meta: await store.meta() };
    });
  }
}

const cacheKeyOf = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

/** Loads once per key, however many callers there are. After a failed load, the next caller loads again. */
function memoizedLoad<K, T>(cache: Map<K, Promise<T>>, key: K, load: () => Promise<T>): Promise<T> {
  const existing = cache.get(key);
  if (existing !== undefined) return existing;
  const loading = load();
  cache.set(key, loading);
  loading.catch(() => cache.delete(key));
  return loading;
}
