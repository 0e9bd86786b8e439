// Loaded with --import: the worker then stores no versions of receipts, which only the reports read.
import { receipt } from '../../dist/families/receipt.js';

delete receipt.versions;
