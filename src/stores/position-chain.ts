import { Int32List } from './int32-list.js';

/** The part of a chain to read. */
export interface ChainPage {
  readonly after: number;
  readonly until_position?: number;
  readonly limit: number;
}

/** The serialised form of a chain: names by id, and for each position the id of its name plus 1; 0: no name. */
export interface ChainState {
  readonly names: readonly string[];
  readonly owners: Int32Array;
}

/**
 * The positions of each name, as linked lists in two arrays indexed by position: the owner, and the owner's next
 * position. Eight bytes per position. Reading a page costs as much as the page holds, unless `firstAfter` has to scan.
 */
export class PositionChain {
  private readonly idByName = new Map<string, number>();
  private readonly first = new Int32List();
  private readonly last = new Int32List();
  /** Indexed by position - 1; 0: no owner. */
  private readonly owner = new Int32List();
  /** Indexed by position - 1; 0: no next position yet. */
  private readonly next = new Int32List();

  /** Adds the next position, starting at 1. */
  add(name: string | undefined): void {
    this.append(name === undefined ? 0 : this.idOf(name) + 1);
  }

  page(name: string, { after, until_position, limit }: ChainPage): number[] {
    const id = this.idByName.get(name);
    if (id === undefined) return [];
    const end = Math.min(until_position ?? this.owner.length, this.last.at(id));
    const positions: number[] = [];
    let position = this.firstAfter(id, after);
    while (position !== 0 && position <= end && positions.length < limit) {
      positions.push(position);
      position = this.next.at(position - 1);
    }
    return positions;
  }

  exportState(): ChainState {
    return { names: [...this.idByName.keys()], owners: this.owner.view() };
  }

  static fromState({ names, owners }: ChainState): PositionChain {
    const chain = new PositionChain();
    for (const name of names) chain.idOf(name);
    for (const owner of owners) {
      if (owner < 0 || owner > names.length) {
        throw new Error(`The event index is damaged: it refers to name ${owner} of ${names.length}.`);
      }
      chain.append(owner);
    }
    return chain;
  }

  private idOf(name: string): number {
    const existing = this.idByName.get(name);
    if (existing !== undefined) return existing;
    const id = this.idByName.size;
    this.idByName.set(name, id);
    this.first.push(0);
    this.last.push(0);
    return id;
  }

  private append(owner: number): void {
    this.owner.push(owner);
    this.next.push(0);
    if (owner === 0) return;
    const position = this.owner.length;
    const previous = this.last.at(owner - 1);
    if (previous === 0) this.first.set(owner - 1, position);
    else this.next.set(previous - 1, position);
    this.last.set(owner - 1, position);
  }

  /**
   * The first position of this name after `after`; 0 if there is none. Needs no search before the first position, after the
   * last, or if `after` is a position of this name, as when a reader pages. Otherwise it scans the owners, about one
   * millisecond per million.
   */
  private firstAfter(id: number, after: number): number {
    const last = this.last.at(id);
    if (after >= last) return 0;
    const first = this.first.at(id);
    if (after < first) return first;
    if (this.owner.at(after - 1) === id + 1) return this.next.at(after - 1);
    return this.owner.indexOf(id + 1, after) + 1;
  }
}
