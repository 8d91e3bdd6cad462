import { FileNode, type Survival } from './file-node.js';
import type { Process } from './process.js';
import type { Rng } from './rng.js';

/** A folder: the names processes see, and the names that would be left if the power went. */
export class FolderNode {
  readonly names = new Map<string, Node>();
  readonly durable = new Map<string, Node>();
}

export type Node = FileNode | FolderNode;

interface NameEdit {
  readonly folder: FolderNode;
  readonly name: string;
  /** Null: the name goes. */
  readonly node: Node | null;
}

/** A change of names that is durable once every folder it touches was synced. */
interface NameChange {
  readonly edits: readonly NameEdit[];
  readonly unsynced: Set<FolderNode>;
}

/** What is on the disk, whoever lives or dies. */
export class Platter {
  readonly root = new FolderNode();
  private changes: NameChange[] = [];
  private readonly locks = new Map<string, Process>();

  folder(path: string): FolderNode | null {
    let node: Node | undefined = this.root;
    for (const part of path.split('/').filter((name) => name !== '')) {
      if (!(node instanceof FolderNode)) return null;
      node = node.names.get(part);
    }
    return node instanceof FolderNode ? node : null;
  }

  find(path: string): Node | null {
    const { parent, name } = split(path);
    return this.folder(parent)?.names.get(name) ?? null;
  }

  file(path: string): FileNode | null {
    const node = this.find(path);
    return node instanceof FileNode ? node : null;
  }

  makeFolder(path: string): void {
    let folder = this.root;
    for (const name of path.split('/').filter((part) => part !== '')) {
      const there = folder.names.get(name);
      if (there instanceof FolderNode) {
        folder = there;
        continue;
      }
      const made = new FolderNode();
      this.edit([{ folder, name, node: made }]);
      folder = made;
    }
  }

  makeFile(path: string): FileNode | null {
    const { parent, name } = split(path);
    const folder = this.folder(parent);
    if (folder === null) return null;
    const file = new FileNode();
    this.edit([{ folder, name, node: file }]);
    return file;
  }

  /** False: there is nothing by that name, or no such folder. */
  rename(from: string, to: string): boolean {
    const source = split(from);
    const target = split(to);
    const [out, into] = [this.folder(source.parent), this.folder(target.parent)];
    const node = out?.names.get(source.name);
    if (out === null || into === null || node === undefined) return false;
    this.edit([
      { folder: out, name: source.name, node: null },
      { folder: into, name: target.name, node },
    ]);
    return true;
  }

  remove(path: string): void {
    const { parent, name } = split(path);
    const folder = this.folder(parent);
    if (folder?.names.has(name)) this.edit([{ folder, name, node: null }]);
  }

  syncFolder(folder: FolderNode): void {
    const left: NameChange[] = [];
    for (const change of this.changes) {
      change.unsynced.delete(folder);
      if (change.unsynced.size === 0) makeDurable(change);
      else left.push(change);
    }
    this.changes = left;
  }

  /** Somebody alive has the lock, frozen or not: false. */
  lock(path: string, owner: Process): boolean {
    if (this.locks.get(path)?.isAlive) return false;
    this.locks.set(path, owner);
    return true;
  }

  unlock(path: string, owner: Process): void {
    if (this.locks.get(path) === owner) this.locks.delete(path);
  }

  lockOwner(path: string): string {
    const owner = this.locks.get(path);
    return owner?.isAlive ? owner.name : '';
  }

  /** Whatever no sync had confirmed is at the mercy of chance: names first, then what is in the files. */
  losePower(rng: Rng): void {
    const isOrdered = rng.chance(0.5);
    const kept = rng.int(this.changes.length + 1);
    for (const [index, change] of this.changes.entries()) {
      if (isOrdered ? index < kept : rng.chance(0.5)) makeDurable(change);
    }
    this.changes = [];
    this.settle(this.root, rng, new Set());
  }

  private settle(folder: FolderNode, rng: Rng, met: Set<Node>): void {
    folder.names.clear();
    for (const [name, node] of folder.durable) {
      folder.names.set(name, node);
      if (met.has(node)) continue;
      met.add(node);
      if (node instanceof FolderNode) this.settle(node, rng, met);
      else node.losePower(rng, rng.pick<Survival>(['none', 'all', 'torn', 'torn', 'pages']));
    }
  }

  private edit(edits: readonly NameEdit[]): void {
    for (const { folder, name, node } of edits) {
      if (node === null) folder.names.delete(name);
      else folder.names.set(name, node);
    }
    this.changes.push({ edits, unsynced: new Set(edits.map(({ folder }) => folder)) });
  }
}

function makeDurable(change: NameChange): void {
  for (const { folder, name, node } of change.edits) {
    if (node === null) folder.durable.delete(name);
    else folder.durable.set(name, node);
  }
}

function split(path: string): { parent: string; name: string } {
  const cut = path.lastIndexOf('/');
  return { parent: path.slice(0, cut), name: path.slice(cut + 1) };
}
