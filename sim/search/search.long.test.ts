import { describeSearch } from './describe-search.js';
import { allWorlds } from './world.js';

describeSearch(allWorlds(), { statesMin: 40_000 });
