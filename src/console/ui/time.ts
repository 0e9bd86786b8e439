export * from '../../common/times.ts';
